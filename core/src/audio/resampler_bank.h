#pragma once
// One resampler for each pair of rates, made at its first use.

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "s2s/resample.h"

namespace s2s::data {

/// Safe to use from several threads.
class ResamplerBank {
 public:
  /// samples [S] float32 at `from_hz` -> at `to_hz`.
  at::Tensor operator()(const at::Tensor& samples_S, int64_t from_hz, int64_t to_hz);

 private:
  std::mutex mutex_;
  std::map<std::pair<int64_t, int64_t>, std::shared_ptr<const Resampler>> by_rates_;
};

}  // namespace s2s::data
