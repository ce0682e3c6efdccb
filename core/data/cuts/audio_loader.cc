#include "s2s/data/audio_loader.h"

#include <ATen/ATen.h>

#include "cuts/cut_audio.h"
#include "cuts/cuts_errors.h"
#include "s2s/data/frames.h"

namespace s2s {
namespace {

constexpr const char* kTarget = "target_audio";

/// Cuts the audio or appends silence, so that it is as long as the cut.
at::Tensor as_long_as(const Cut& cut, const at::Tensor& audio_S, int64_t rate) {
  data::check_length(cut);
  const int64_t count = compute_num_samples(cut.duration_s, rate);
  const int64_t missing = count - audio_S.size(0);
  return missing > 0 ? at::constant_pad_nd(audio_S, {0, missing}) : audio_S.narrow(0, 0, count);
}

}  // namespace

AudioLoader::AudioLoader() : cuts_(std::make_unique<data::CutAudio>()) {}
AudioLoader::~AudioLoader() = default;

at::Tensor AudioLoader::source(const Cut& cut, int64_t sample_rate_hz) {
  return data::mean_channel(cuts_->load(cut, sample_rate_hz));
}

at::Tensor AudioLoader::target(const Cut& cut, int64_t sample_rate_hz) {
  if (cut.find_recording(kTarget) == nullptr) throw cuts_errors::no_target(cut);
  const at::Tensor audio_CS = cuts_->load_custom(cut, kTarget, sample_rate_hz, cut.duration_s);
  return as_long_as(cut, data::mean_channel(audio_CS), sample_rate_hz);
}

at::Tensor AudioLoader::custom(const Cut& cut, const std::string& name, int64_t sample_rate_hz) {
  return data::mean_channel(cuts_->load_custom(cut, name, sample_rate_hz));
}

}  // namespace s2s
