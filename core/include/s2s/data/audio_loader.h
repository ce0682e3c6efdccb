#pragma once
// Audio of cuts.

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

/// Loads the audio of cuts of every kind: mono (the mean of several channels), float32. Resampled
/// once when the recording has another rate. Audio that is shorter than its manifest says by at
/// most half a second (LHOTSE_AUDIO_DURATION_MISMATCH_TOLERANCE) is continued by reflection. Safe
/// to use from several threads; works on the calling one. Errors: [data/missing-file],
/// [data/unreadable-audio], [data/sample-rate], [data/channel], [data/cut-too-long],
/// [data/duration-mismatch], [data/source-type], [data/transforms], [data/mix]. Source: lhotse
/// load_audio, load_custom (numbers), NeMo DuplexS2SDataset (which audio).
class AudioLoader {
 public:
  AudioLoader();
  virtual ~AudioLoader();
  AudioLoader(const AudioLoader&) = delete;
  AudioLoader& operator=(const AudioLoader&) = delete;

  /// The user's: [S] with S = compute_num_samples(duration, rate). Errors: also
  /// [data/no-recording].
  virtual at::Tensor source(const Cut& cut, int64_t sample_rate_hz);
  /// The agent's (custom.target_audio), [S] as above. What is not aligned with the recording and
  /// shorter than the cut is followed by silence. Errors: also [data/no-target].
  virtual at::Tensor target(const Cut& cut, int64_t sample_rate_hz);
  /// Another custom recording's: [S] as above; all of it when the cut says NAME_unaligned.
  /// Errors: also [data/no-custom-audio].
  virtual at::Tensor custom(const Cut& cut, const std::string& name, int64_t sample_rate_hz);

 private:
  std::unique_ptr<data::CutAudio> cuts_;
};

}  // namespace s2s
