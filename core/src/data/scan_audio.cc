#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>

#include "cuts/cut_audio.h"
#include "data/inspect.h"
#include "s2s/audio_loader.h"
#include "s2s/threads.h"

namespace s2s::data {
namespace {

constexpr float kSilence = 1e-4F;                  // -80 dB
constexpr float kFullScale = 32767.0F / 32768.0F;  // of 16 bits
constexpr int64_t kClippedRun = 3;

struct Levels {
  float peak = 0;
  int64_t clipped_samples = 0;
};

Levels measure(const at::Tensor& samples_S) {
  Levels levels;
  const float* samples = samples_S.const_data_ptr<float>();
  int64_t run = 0;
  for (int64_t i = 0; i < samples_S.numel(); ++i) {
    const float magnitude = std::fabs(samples[i]);
    levels.peak = std::max(levels.peak, magnitude);
    run = magnitude >= kFullScale ? run + 1 : 0;
    if (run == kClippedRun) levels.clipped_samples += kClippedRun;
    if (run > kClippedRun) ++levels.clipped_samples;
  }
  return levels;
}

using Load = at::Tensor (AudioLoader::*)(const Cut&, int64_t);

std::optional<AudioProblem> check(const Cut& cut, const Recording* recording, const char* which,
                                  Load load, AudioLoader& loader) {
  if (recording == nullptr) return std::nullopt;
  try {
    const at::Tensor samples_S = (loader.*load)(cut, recording->sample_rate_hz);
    const Levels levels = measure(samples_S);
    if (levels.peak < kSilence) return AudioProblem{"silent", cut.place(), which, ""};
    if (levels.clipped_samples > 0) {
      const double share =
          static_cast<double>(levels.clipped_samples) / static_cast<double>(samples_S.numel());
      return AudioProblem{"clipped", cut.place(), which,
                          fmt::format("{} samples, {:.2f} %", levels.clipped_samples, 100 * share)};
    }
  } catch (const Error& error) {
    const char* const kind = error.id() == "data/command-refused" ? "command" : "unreadable";
    return AudioProblem{kind, cut.place(), which, error.what()};
  }
  return std::nullopt;
}

std::vector<AudioProblem> check_both(const Cut& cut, AudioLoader& loader) {
  std::vector<AudioProblem> problems;
  for (const auto& problem :
       {check(cut, cut.recording ? &*cut.recording : nullptr, "user", &AudioLoader::source, loader),
        check(cut, cut.find_recording("target_audio"), "agent", &AudioLoader::target, loader)}) {
    if (problem) problems.push_back(*problem);
  }
  return problems;
}

}  // namespace

std::vector<AudioProblem> scan_audio(const CutList& cuts, int64_t num_threads,
                                     const std::function<void(int64_t)>& progress) {
  std::vector<std::vector<AudioProblem>> by_cut(cuts.size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  int64_t num_done = 0;
  AudioLoader loader;
  const auto work = [&] {
    run_operators_on_this_thread();
    for (size_t i = next++; i < cuts.size(); i = next++) {
      if (!is_endless(*cuts[i])) by_cut[i] = check_both(*cuts[i], loader);
      const std::lock_guard lock(mutex);
      progress(++num_done);
    }
  };
  run_threads(num_threads, work, [&] { next = cuts.size(); });
  std::vector<AudioProblem> problems;
  for (const auto& found : by_cut) problems.insert(problems.end(), found.begin(), found.end());
  return problems;
}

}  // namespace s2s::data
