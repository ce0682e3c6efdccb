#include "audio/resampler_bank.h"

namespace s2s::data {

at::Tensor ResamplerBank::operator()(const at::Tensor& samples_S, int64_t from_hz, int64_t to_hz) {
  if (from_hz == to_hz) return samples_S;
  std::shared_ptr<const Resampler> resampler;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Resampler>& kept = by_rates_[{from_hz, to_hz}];
    // lhotse uses torchaudio.transforms.Resample, whose kernel is computed in float64.
    if (!kept) kept = std::make_shared<const Resampler>(from_hz, to_hz, /*double_kernel=*/true);
    resampler = kept;
  }
  return (*resampler)(samples_S);
}

}  // namespace s2s::data
