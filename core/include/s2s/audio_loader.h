#pragma once
// Audio of cuts.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "s2s/cuts.h"

namespace s2s {

namespace data {
class ResamplerBank;
}

/// Loads the audio of cuts: mono, float32 [S] with S = compute_num_samples(duration, rate).
/// Resampled when the recording has another rate. Audio that is shorter than the cut by at most
/// half a second is continued by reflection. Safe to use from several threads.
/// Errors: [data/missing-file], [data/unreadable-audio], [data/sample-rate], [data/channel],
/// [data/cut-too-long], [data/duration-mismatch], [data/cut-type], [data/source-type],
/// [data/transforms].
/// Source: lhotse Recording.load_audio (numbers), NeMo DuplexS2SDataset (which audio).
class AudioLoader {
 public:
  AudioLoader();
  virtual ~AudioLoader();
  AudioLoader(const AudioLoader&) = delete;
  AudioLoader& operator=(const AudioLoader&) = delete;

  /// The user's. Errors: also [data/no-recording].
  virtual at::Tensor source(const Cut& cut, int64_t sample_rate_hz);
  /// The agent's. Errors: also [data/no-target].
  virtual at::Tensor target(const Cut& cut, int64_t sample_rate_hz);

 private:
  std::unique_ptr<data::ResamplerBank> resamplers_;
};

}  // namespace s2s
