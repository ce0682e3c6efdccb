#pragma once
// Adds recordings at their offsets and at their signal-to-noise ratios.
// Shape letters: C channels, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace s2s::data {

/// Mean square over all channels.
double audio_energy(const at::Tensor& audio_CS);

/// audio times the gain that puts it `snr_db` below `reference_energy`; as it is when either energy
/// is 0.
at::Tensor at_ratio(const at::Tensor& audio_CS, double snr_db, double reference_energy);

/// Tracks of one channel go to every channel; tracks of several channels have equally many.
/// Source: lhotse AudioMixer.
class AudioMixer {
 public:
  /// Errors: std::runtime_error when the numbers of channels do not fit.
  void add(at::Tensor audio_CS, int64_t offset_samples);

  /// [C, S], up to the end of the last track; zeros where there is none.
  at::Tensor mixed() const;
  /// [1, S]: also the sum over each track's channels.
  at::Tensor mixed_down() const;

 private:
  at::Tensor sum(int64_t num_channels) const;

  struct Track {
    at::Tensor audio_CS;
    int64_t offset;
  };
  std::vector<Track> tracks_;
  int64_t num_channels_ = 1;
};

}  // namespace s2s::data
