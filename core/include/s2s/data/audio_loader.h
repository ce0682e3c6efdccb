#pragma once
// Loads the audio of cuts.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "s2s/data/cuts.h"
#include "s2s/data/fingerprint.h"

namespace s2s {

namespace data {
class CutAudio;
}

/// Loads the audio of every kind of cut as float32 mono (the mean of several channels). Resamples
/// once if the recording has another rate. Audio up to half a second shorter than its manifest says
/// (LHOTSE_AUDIO_DURATION_MISMATCH_TOLERANCE) is extended by reflection. Thread-safe; all work runs
/// on the calling thread. Errors: [data/missing-file], [data/unreadable-audio], [data/sample-rate],
/// [data/channel], [data/cut-too-long], [data/duration-mismatch], [data/source-type],
/// [data/transforms], [data/mix]. Source: lhotse load_audio and load_custom (values), NeMo
/// DuplexS2SDataset (which audio is loaded).
class AudioLoader {
 public:
  AudioLoader();
  virtual ~AudioLoader();
  AudioLoader(const AudioLoader&) = delete;
  AudioLoader& operator=(const AudioLoader&) = delete;

  /// The user's audio: [S] with S = compute_num_samples(duration, rate). Errors: also
  /// [data/no-recording].
  virtual at::Tensor source(const Cut& cut, int64_t sample_rate_hz);
  /// The agent's audio (custom.target_audio), [S] as above. If it is not aligned with the recording
  /// and shorter than the cut, silence is appended. Errors: also [data/no-target].
  virtual at::Tensor target(const Cut& cut, int64_t sample_rate_hz);
  /// Another custom recording: [S] as above, or all of it when the cut says NAME_unaligned.
  /// Errors: also [data/no-custom-audio].
  virtual at::Tensor custom(const Cut& cut, const std::string& name, int64_t sample_rate_hz);

 private:
  std::unique_ptr<data::CutAudio> cuts_;
};

}  // namespace s2s
