#pragma once
// Mixes recordings at offsets and signal-to-noise ratios.
// Shape letters: C channels, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace s2s::data {

/// Mean square over all channels.
double audio_energy(const at::Tensor& audio_CS);

/// Scales the audio so that its energy is `snr_db` below `reference_energy`. Returns it unchanged
/// if one of the energies is 0.
at::Tensor at_ratio(const at::Tensor& audio_CS, double snr_db, double reference_energy);

/// Adds tracks at offsets. A track of one channel is added to every channel. All tracks of several
/// channels must have the same number of them.
/// Source: lhotse AudioMixer.
class AudioMixer {
 public:
  /// Errors: std::runtime_error when the numbers of channels do not match.
  void add(at::Tensor audio_CS, int64_t offset_samples);

  /// Returns [C, S] up to the end of the last track, with zeros where there is no track.
  at::Tensor mixed() const;

 private:
  struct Track {
    at::Tensor audio_CS;
    int64_t offset;
  };
  std::vector<Track> tracks_;
  int64_t num_channels_ = 1;
};

}  // namespace s2s::data
