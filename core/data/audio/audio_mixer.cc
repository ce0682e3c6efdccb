#include "audio/audio_mixer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace s2s::data {

double audio_energy(const at::Tensor& audio_CS) {
  return audio_CS.numel() == 0 ? 0 : audio_CS.square().mean().item<double>();
}

at::Tensor at_ratio(const at::Tensor& audio_CS, double snr_db, double reference_energy) {
  if (!(reference_energy > 0)) return audio_CS;
  const double energy = audio_energy(audio_CS);
  if (!(energy > 0)) return audio_CS;
  return audio_CS * std::sqrt(reference_energy * std::pow(10.0, -snr_db / 10) / energy);
}

void AudioMixer::add(at::Tensor audio_CS, int64_t offset_samples) {
  const int64_t channels = audio_CS.size(0);
  if (channels != num_channels_ && num_channels_ != 1 && channels != 1) {
    throw std::runtime_error("tracks of " + std::to_string(num_channels_) + " and of " +
                             std::to_string(channels) + " channels");
  }
  num_channels_ = std::max(num_channels_, channels);
  tracks_.push_back({std::move(audio_CS), offset_samples});
}

at::Tensor AudioMixer::mixed() const {
  int64_t length = 0;
  for (const Track& track : tracks_) {
    length = std::max(length, track.offset + track.audio_CS.size(1));
  }
  at::Tensor mix_CS = at::zeros({num_channels_, length}, at::kFloat);
  for (const Track& track : tracks_) {
    mix_CS.narrow(1, track.offset, track.audio_CS.size(1)).add_(track.audio_CS);
  }
  return mix_CS;
}

}  // namespace s2s::data
