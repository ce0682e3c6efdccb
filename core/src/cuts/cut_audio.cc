// Loading a cut's stretch of its recordings.

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "audio/audio_file.h"
#include "audio/resampler_bank.h"
#include "cuts/cut_audio_errors.h"
#include "s2s/audio_loader.h"
#include "s2s/frames.h"

namespace s2s {
namespace {

/// How much audio may be missing or too much; lhotse's LHOTSE_AUDIO_DURATION_MISMATCH_TOLERANCE.
constexpr double kToleranceSeconds = 0.5;

struct Stretch {
  double start_s = 0;
  double duration_s = 0;
};

int64_t tolerated_samples(int64_t rate_hz) {
  return static_cast<int64_t>(std::ceil(kToleranceSeconds * static_cast<double>(rate_hz)));
}

std::unique_ptr<data::AudioFileReader> open_audio(const Cut& cut, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw cut_audio_errors::missing_audio(cut, path);
  try {
    return std::make_unique<data::AudioFileReader>(path);
  } catch (const std::runtime_error& error) {
    throw cut_audio_errors::unreadable_audio(cut, path, error.what());
  }
}

void check_file(const Cut& cut, const Recording& recording, const AudioSource& file,
                const data::AudioInfo& info) {
  if (info.sample_rate_hz != recording.sample_rate_hz) {
    throw cut_audio_errors::file_sample_rate(cut, file.source, info.sample_rate_hz,
                                             recording.sample_rate_hz);
  }
  if (info.num_channels != static_cast<int64_t>(file.channels.size())) {
    throw cut_audio_errors::channel(cut, file.source,
                                    "the file has " + std::to_string(info.num_channels) +
                                        " channels, the manifest names " +
                                        std::to_string(file.channels.size()));
  }
}

double seconds(int64_t num_samples, const Recording& recording) {
  return static_cast<double>(num_samples) / static_cast<double>(recording.sample_rate_hz);
}

int64_t samples_to_read(const Cut& cut, const Recording& recording, const AudioSource& file,
                        const Stretch& stretch, int64_t num_in_file) {
  const int64_t rate = recording.sample_rate_hz;
  const int64_t count = compute_num_samples(stretch.duration_s, rate);
  // As lhotse: nearly the whole recording is read to its end and cut after resampling.
  if (std::fabs(stretch.duration_s - recording.duration_s) > 1e-3) return count;
  const int64_t to_end = num_in_file - compute_num_samples(stretch.start_s, rate);
  if (to_end - count > tolerated_samples(rate)) {
    throw cut_audio_errors::duration_mismatch(cut, file.source, seconds(num_in_file, recording),
                                              recording.duration_s);
  }
  return to_end;
}

/// Samples [C, S'] of the stretch, S' within the tolerance of its length.
at::Tensor read_file(const Cut& cut, const Recording& recording, const AudioSource& file,
                     const Stretch& stretch) {
  const std::unique_ptr<data::AudioFileReader> reader = open_audio(cut, file.source);
  check_file(cut, recording, file, reader->info());
  const int64_t rate = recording.sample_rate_hz;
  const int64_t num_in_file = reader->info().num_samples;
  const int64_t wanted = samples_to_read(cut, recording, file, stretch, num_in_file);
  at::Tensor samples_CS;
  try {
    samples_CS = reader->read(compute_num_samples(stretch.start_s, rate), wanted);
  } catch (const std::runtime_error& error) {
    throw cut_audio_errors::unreadable_audio(cut, file.source, error.what());
  }
  const int64_t missing = compute_num_samples(stretch.duration_s, rate) - samples_CS.size(1);
  if (samples_CS.size(1) == 0 || missing > tolerated_samples(rate)) {
    throw cut_audio_errors::cut_too_long(cut, file.source, stretch.start_s,
                                         stretch.start_s + stretch.duration_s,
                                         seconds(num_in_file, recording));
  }
  return samples_CS;
}

/// Rows of the asked channels; all when none are asked.
at::Tensor pick_channels(const AudioSource& file, const at::Tensor& samples_CS,
                         const std::vector<int64_t>& channels) {
  if (channels.empty()) return samples_CS;
  std::vector<at::Tensor> rows;
  for (size_t i = 0; i < file.channels.size(); ++i) {
    if (std::count(channels.begin(), channels.end(), file.channels[i]) > 0) {
      rows.push_back(samples_CS[static_cast<int64_t>(i)]);
    }
  }
  return rows.empty() ? at::Tensor() : at::stack(rows);
}

/// Index into a signal of `length` samples that is reflected at both ends (numpy's "reflect").
int64_t reflected(int64_t index, int64_t length) {
  if (length == 1) return 0;
  const int64_t period = 2 * (length - 1);
  const int64_t phase = index % period;
  return phase < length ? phase : period - phase;
}

at::Tensor fit_length(const at::Tensor& samples_S, int64_t count) {
  const int64_t length = samples_S.size(0);
  if (length >= count) return samples_S.narrow(0, 0, count);
  at::Tensor padded_S = at::empty({count}, at::kFloat);
  const float* from = samples_S.const_data_ptr<float>();
  float* to = padded_S.data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) to[i] = from[reflected(i, length)];
  return padded_S;
}

/// The stretch, mono, at the recording's rate.
at::Tensor load_mono(const Cut& cut, const Recording& recording,
                     const std::vector<int64_t>& channels, const Stretch& stretch) {
  std::vector<at::Tensor> parts;
  for (const AudioSource& file : recording.sources) {
    const bool wanted =
        channels.empty() || std::any_of(channels.begin(), channels.end(), [&](int64_t channel) {
          return std::count(file.channels.begin(), file.channels.end(), channel) > 0;
        });
    if (wanted) {
      parts.push_back(pick_channels(file, read_file(cut, recording, file, stretch), channels));
    }
  }
  if (parts.empty()) {
    throw cut_audio_errors::channel(
        cut, recording.sources.front().source,
        "the recording has no channel " + std::to_string(channels.front()));
  }
  int64_t shortest = parts.front().size(1);
  for (const at::Tensor& part : parts) shortest = std::min(shortest, part.size(1));
  for (at::Tensor& part : parts) part = part.narrow(1, 0, shortest);
  const at::Tensor all_CS = at::cat(parts);
  const at::Tensor mono_S = all_CS.size(0) == 1 ? all_CS[0] : all_CS.mean(0);
  return mono_S.contiguous();
}

/// Refuses what this loader cannot load.
void check_recording(const Cut& cut, const Recording& recording) {
  if (!recording.transforms.empty()) throw cut_audio_errors::transforms(cut, recording.id);
  static constexpr const char* kTypes[] = {"file", "command", "url", "memory", "shar", "shar_ptr"};
  for (const AudioSource& source : recording.sources) {
    if (source.type == AudioSource::Type::kFile) continue;
    throw cut_audio_errors::source_kind(cut, kTypes[static_cast<size_t>(source.type)]);
  }
}

}  // namespace

AudioLoader::AudioLoader() : resamplers_(std::make_unique<data::ResamplerBank>()) {}
AudioLoader::~AudioLoader() = default;

at::Tensor AudioLoader::source(const Cut& cut, int64_t sample_rate_hz) {
  if (cut.kind != Cut::Kind::kMono) throw cut_audio_errors::cut_kind(cut);
  if (!cut.recording) throw cut_audio_errors::no_recording(cut);
  check_recording(cut, *cut.recording);
  const at::Tensor mono_S =
      load_mono(cut, *cut.recording, cut.channels, {cut.start_s, cut.duration_s});
  return fit_length((*resamplers_)(mono_S, cut.recording->sample_rate_hz, sample_rate_hz),
                    compute_num_samples(cut.duration_s, sample_rate_hz));
}

at::Tensor AudioLoader::target(const Cut& cut, int64_t sample_rate_hz) {
  if (cut.kind != Cut::Kind::kMono) throw cut_audio_errors::cut_kind(cut);
  const Recording* recording = cut.find_recording("target_audio");
  if (recording == nullptr) throw cut_audio_errors::no_target(cut);
  check_recording(cut, *recording);
  const double start_s = cut.custom_flag("target_audio_unaligned") ? 0 : cut.start_s;
  const at::Tensor mono_S =
      load_mono(cut, *recording, cut.custom_integers("target_audio_channel_selector"),
                {start_s, cut.duration_s});
  return fit_length((*resamplers_)(mono_S, recording->sample_rate_hz, sample_rate_hz),
                    compute_num_samples(cut.duration_s, sample_rate_hz));
}

}  // namespace s2s
