#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <span>

#include "cuts/cut_audio.h"
#include "duplex/inspect.h"
#include "duplex/turn_findings.h"
#include "s2s/data/audio_loader.h"
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

Levels measure(std::span<const float> samples) {
  Levels levels;
  int64_t run = 0;
  for (const float sample : samples) {
    const float magnitude = std::fabs(sample);
    levels.peak = std::max(levels.peak, magnitude);
    run = magnitude >= kFullScale ? run + 1 : 0;
    if (run == kClippedRun) levels.clipped_samples += kClippedRun;
    if (run > kClippedRun) ++levels.clipped_samples;
  }
  return levels;
}

using Load = at::Tensor (AudioLoader::*)(const Cut&, int64_t);

/// The levels and problems of one decoded channel.
struct ChannelScan {
  std::optional<AudioProblem> problem;
  std::vector<double> levels_db;  // of frames of kTurnFrame_s; empty: the channel was not read
};

std::optional<AudioProblem> level_problem(const Levels& levels, int64_t num_samples, const Cut& cut,
                                          const char* which) {
  if (levels.peak < kSilence) return AudioProblem{"silent", cut.place(), which, ""};
  if (levels.clipped_samples == 0) return std::nullopt;
  const double share =
      static_cast<double>(levels.clipped_samples) / static_cast<double>(num_samples);
  return AudioProblem{"clipped", cut.place(), which,
                      fmt::format("{} samples, {:.2f} %", levels.clipped_samples, 100 * share)};
}

ChannelScan scan_channel(const Cut& cut, const Recording* recording, const char* which, Load load,
                         AudioLoader& loader) {
  if (recording == nullptr) return {};
  try {
    const at::Tensor samples_S = (loader.*load)(cut, recording->sample_rate_hz).contiguous();
    const std::span samples(samples_S.const_data_ptr<float>(),
                            static_cast<size_t>(samples_S.numel()));
    return {level_problem(measure(samples), samples_S.numel(), cut, which),
            centered_levels_db(samples, recording->sample_rate_hz, kTurnFrame_s)};
  } catch (const Error& error) {
    const char* const kind = error.id() == "data/command-refused" ? "command" : "unreadable";
    return {AudioProblem{kind, cut.place(), which, error.what()}, {}};
  }
}

/// The result of one cut.
struct ScannedCut {
  std::vector<AudioProblem> problems;
  std::optional<TurnFit> fit;
};

ScannedCut scan_cut(const Cut& cut, const DuplexDataOptions& roles, AudioLoader& loader) {
  ChannelScan user = scan_channel(cut, cut.recording ? &*cut.recording : nullptr, "user",
                                  &AudioLoader::source, loader);
  ChannelScan agent =
      scan_channel(cut, cut.find_recording("target_audio"), "agent", &AudioLoader::target, loader);
  ScannedCut scanned;
  for (const ChannelScan* channel : {&user, &agent}) {
    if (channel->problem) scanned.problems.push_back(*channel->problem);
  }
  if (!user.levels_db.empty() && !agent.levels_db.empty()) {
    scanned.fit = fit_turns({std::move(user.levels_db), turns_of(cut, roles.input_roles)},
                            {std::move(agent.levels_db), turns_of(cut, roles.output_roles)});
  }
  return scanned;
}

}  // namespace

AudioScan scan_audio(const CutList& cuts, const DuplexDataOptions& roles, int64_t num_threads,
                     const std::function<void(int64_t)>& progress) {
  std::vector<ScannedCut> by_cut(cuts.size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  int64_t num_done = 0;
  AudioLoader loader;
  const auto work = [&] {
    run_operators_on_this_thread();
    for (size_t i = next++; i < cuts.size(); i = next++) {
      if (!is_endless(*cuts[i])) by_cut[i] = scan_cut(*cuts[i], roles, loader);
      const std::lock_guard lock(mutex);
      progress(++num_done);
    }
  };
  run_threads(num_threads, work, [&] { next = cuts.size(); });
  AudioScan scan;
  for (const ScannedCut& cut : by_cut) {
    scan.problems.insert(scan.problems.end(), cut.problems.begin(), cut.problems.end());
    scan.fits.push_back(cut.fit);
  }
  return scan;
}

}  // namespace s2s::data
