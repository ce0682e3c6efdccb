#include "s2s/resample.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "s2s/error.h"

namespace s2s {
namespace {

constexpr double kZeroCrossings = 6;
constexpr double kRollOff = 0.99;

/// Every operation is torchaudio's and in its type, so that the kernel has the same bits: with a
/// double kernel the phases are still divided in float.
at::Tensor sinc_kernel(int64_t from, int64_t to, int64_t width, double cutoff, bool double_kernel) {
  const auto type = double_kernel ? at::kDouble : at::kFloat;
  const at::Tensor taps = at::arange(-width, width + from, type) / from;
  const at::Tensor phases = at::arange(0, -to, -1, double_kernel ? at::kLong : at::kFloat) / to;
  at::Tensor t = phases.view({to, 1, 1}) + taps.view({1, 1, -1});
  t.mul_(cutoff).clamp_(-kZeroCrossings, kZeroCrossings);
  const at::Tensor window = at::cos(t * std::numbers::pi / kZeroCrossings / 2).square();
  t.mul_(std::numbers::pi);
  at::Tensor kernel = at::where(t == 0, at::ones({}, t.options()), t.sin() / t);
  kernel.mul_(window * (cutoff / static_cast<double>(from)));
  return kernel.to(at::kFloat);
}

}  // namespace

Resampler::Resampler(int64_t from_hz, int64_t to_hz, bool double_kernel) {
  S2S_ASSERT(from_hz > 0 && to_hz > 0, "sample rates were checked where they were read");
  const int64_t divisor = std::gcd(from_hz, to_hz);
  from_ = from_hz / divisor;
  to_ = to_hz / divisor;
  if (from_ == to_) return;
  const double cutoff = static_cast<double>(std::min(from_, to_)) * kRollOff;
  width_ = static_cast<int64_t>(std::ceil(kZeroCrossings * static_cast<double>(from_) / cutoff));
  kernel_ = sinc_kernel(from_, to_, width_, cutoff, double_kernel);
}

int64_t Resampler::num_samples(int64_t num_input_samples) const {
  if (from_ == to_) return num_input_samples;
  const double exact = static_cast<double>(to_ * num_input_samples) / static_cast<double>(from_);
  return static_cast<int64_t>(std::ceil(static_cast<float>(exact)));
}

at::Tensor Resampler::operator()(const at::Tensor& audio_BS) const {
  if (from_ == to_) return audio_BS;
  const int64_t samples = audio_BS.size(-1);
  const at::Tensor rows = audio_BS.reshape({-1, 1, samples});
  const at::Tensor extended = at::constant_pad_nd(rows, {width_, width_ + from_});
  at::Tensor phases = at::conv1d(extended, kernel_.to(audio_BS.device()), {}, from_);
  phases = phases.transpose(1, 2).reshape({rows.size(0), -1});
  std::vector<int64_t> sizes = audio_BS.sizes().vec();
  sizes.back() = std::min(num_samples(samples), phases.size(1));
  return phases.narrow(1, 0, sizes.back()).reshape(sizes);
}

at::Tensor resample(const at::Tensor& audio_BS, int64_t from_hz, int64_t to_hz) {
  return Resampler(from_hz, to_hz)(audio_BS);
}

}  // namespace s2s
