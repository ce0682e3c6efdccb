#include "audio/sinc_kernel.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "s2s/error.h"

namespace s2s::data {
namespace {

constexpr double kZeroCrossings = 6;
constexpr double kRollOff = 0.99;

at::Tensor weights_of(const at::Tensor& taps, int64_t from, int64_t to, double cutoff,
                      bool is_double) {
  const auto type = is_double ? at::kDouble : at::kFloat;
  const at::Tensor phases = at::arange(0, -to, -1, is_double ? at::kLong : at::kFloat) / to;
  at::Tensor t = phases.view({to, 1}) + taps.to(type) / from;
  t.mul_(cutoff).clamp_(-kZeroCrossings, kZeroCrossings);
  const at::Tensor window = at::cos(t * std::numbers::pi / kZeroCrossings / 2).square();
  t.mul_(std::numbers::pi);
  at::Tensor kernel = at::where(t == 0, at::ones({}, t.options()), t.sin() / t);
  kernel.mul_(window * (cutoff / static_cast<double>(from)));
  return kernel.to(at::kFloat).contiguous();
}

}  // namespace

at::Tensor SincKernel::rows() const {
  at::Tensor rows = at::zeros({to, 1, from + 2 * width}, at::kFloat);
  for (int64_t p = 0; p < to; ++p) {
    const int64_t begin = starts[static_cast<size_t>(p)] + width;
    rows[p][0].narrow(0, begin, weights.size(1)).copy_(weights[p]);
  }
  return rows;
}

SincKernel sinc_kernel(int64_t from_hz, int64_t to_hz, bool is_double) {
  S2S_ASSERT(from_hz > 0 && to_hz > 0, "sample rates were checked where they were read");
  const int64_t divisor = std::gcd(from_hz, to_hz);
  SincKernel kernel = {from_hz / divisor, to_hz / divisor};
  if (kernel.from == kernel.to) return kernel;
  const double cutoff = static_cast<double>(std::min(kernel.from, kernel.to)) * kRollOff;
  const double half = kZeroCrossings * static_cast<double>(kernel.from) / cutoff;
  kernel.width = static_cast<int64_t>(std::ceil(half));
  for (int64_t p = 0; p < kernel.to; ++p) {
    const double middle = static_cast<double>(p * kernel.from) / static_cast<double>(kernel.to);
    kernel.starts.push_back(static_cast<int64_t>(std::ceil(middle - half)));
  }
  const auto num_taps = static_cast<int64_t>(std::floor(2 * half)) + 1;
  const at::Tensor taps = at::tensor(kernel.starts).view({kernel.to, 1}) + at::arange(num_taps);
  kernel.weights = weights_of(taps, kernel.from, kernel.to, cutoff, is_double);
  return kernel;
}

}  // namespace s2s::data
