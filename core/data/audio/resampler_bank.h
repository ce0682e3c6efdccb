#pragma once
// Caches a resampler for each pair of rates.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "s2s/data/resample.h"

namespace s2s::data {

/// Thread-safe. Keeps only the most recently used resamplers: random speeds need many, and those
/// for rates without a common divisor are large.
class ResamplerBank {
 public:
  static constexpr size_t kMost = 32;

  /// Resamples [..., S] float32 from `from_hz` to `to_hz`.
  at::Tensor operator()(const at::Tensor& samples_S, int64_t from_hz, int64_t to_hz);

 private:
  struct Kept {
    std::shared_ptr<const Resampler> resampler;
    uint64_t last_use = 0;
  };
  std::shared_ptr<const Resampler> find(int64_t from_hz, int64_t to_hz);
  void forget_oldest();

  std::mutex mutex_;
  uint64_t num_uses_ = 0;
  std::map<std::pair<int64_t, int64_t>, Kept> by_rates_;
};

}  // namespace s2s::data
