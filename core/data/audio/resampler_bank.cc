#include "audio/resampler_bank.h"

#include <algorithm>

namespace s2s::data {

std::shared_ptr<const Resampler> ResamplerBank::find(int64_t from_hz, int64_t to_hz) {
  const std::lock_guard lock(mutex_);
  Kept& kept = by_rates_[{from_hz, to_hz}];
  kept.last_use = ++num_uses_;
  // As lhotse, which uses torchaudio.transforms.Resample with a kernel computed in float64.
  if (!kept.resampler) {
    kept.resampler = std::make_shared<const Resampler>(from_hz, to_hz, /*double_kernel=*/true);
  }
  std::shared_ptr<const Resampler> found = kept.resampler;
  if (by_rates_.size() > kMost) forget_oldest();
  return found;
}

void ResamplerBank::forget_oldest() {
  by_rates_.erase(
      std::min_element(by_rates_.begin(), by_rates_.end(), [](const auto& one, const auto& other) {
        return one.second.last_use < other.second.last_use;
      }));
}

at::Tensor ResamplerBank::operator()(const at::Tensor& samples_S, int64_t from_hz, int64_t to_hz) {
  return from_hz == to_hz ? samples_S : (*find(from_hz, to_hz))(samples_S);
}

}  // namespace s2s::data
