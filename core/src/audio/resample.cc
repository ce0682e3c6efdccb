#include "s2s/resample.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "audio/polyphase.h"
#include "s2s/error.h"

namespace s2s {
namespace {

constexpr double kZeroCrossings = 6;
constexpr double kRollOff = 0.99;

/// Weights [to, taps] of each phase around its middle; torchaudio's rows are as long as a frame and
/// zero elsewhere. Every operation is torchaudio's and in its type, so that the weights have the
/// same bits: with a double kernel the phases are still divided in float.
at::Tensor sinc_kernel(const at::Tensor& taps, int64_t from, int64_t to, double cutoff,
                       bool double_kernel) {
  const auto type = double_kernel ? at::kDouble : at::kFloat;
  const at::Tensor phases = at::arange(0, -to, -1, double_kernel ? at::kLong : at::kFloat) / to;
  at::Tensor t = phases.view({to, 1}) + taps.to(type) / from;
  t.mul_(cutoff).clamp_(-kZeroCrossings, kZeroCrossings);
  const at::Tensor window = at::cos(t * std::numbers::pi / kZeroCrossings / 2).square();
  t.mul_(std::numbers::pi);
  at::Tensor kernel = at::where(t == 0, at::ones({}, t.options()), t.sin() / t);
  kernel.mul_(window * (cutoff / static_cast<double>(from)));
  return kernel.to(at::kFloat).contiguous();
}

}  // namespace

Resampler::Resampler(int64_t from_hz, int64_t to_hz, bool double_kernel) {
  S2S_ASSERT(from_hz > 0 && to_hz > 0, "sample rates were checked where they were read");
  const int64_t divisor = std::gcd(from_hz, to_hz);
  from_ = from_hz / divisor;
  to_ = to_hz / divisor;
  if (from_ == to_) return;
  const double cutoff = static_cast<double>(std::min(from_, to_)) * kRollOff;
  const double half = kZeroCrossings * static_cast<double>(from_) / cutoff;
  std::vector<int64_t> starts;
  for (int64_t p = 0; p < to_; ++p) {
    const double middle = static_cast<double>(p * from_) / static_cast<double>(to_);
    starts.push_back(static_cast<int64_t>(std::ceil(middle - half)));
  }
  const auto num_taps = static_cast<int64_t>(std::floor(2 * half)) + 1;
  const at::Tensor taps = at::tensor(starts).view({to_, 1}) + at::arange(num_taps);
  const at::Tensor kernel = sinc_kernel(taps, from_, to_, cutoff, double_kernel);
  phases_ = std::make_shared<const data::Polyphase>(from_, std::move(starts),
                                                    kernel.const_data_ptr<float>(), num_taps);
}

int64_t Resampler::num_samples(int64_t num_input_samples) const {
  if (from_ == to_) return num_input_samples;
  const double exact = static_cast<double>(to_ * num_input_samples) / static_cast<double>(from_);
  return static_cast<int64_t>(std::ceil(static_cast<float>(exact)));
}

at::Tensor Resampler::operator()(const at::Tensor& audio_BS) const {
  if (from_ == to_) return audio_BS;
  const int64_t num_inputs = audio_BS.size(-1);
  // Never more than a frame after the last that begins inside; torchaudio's convolution ends there.
  const int64_t num_outputs = std::min(num_samples(num_inputs), (num_inputs / from_ + 1) * to_);
  const at::Tensor inputs = audio_BS.detach().to(at::kCPU, at::kFloat).contiguous();
  std::vector<int64_t> sizes = audio_BS.sizes().vec();
  sizes.back() = num_outputs;
  const at::Tensor outputs = at::empty(sizes, at::kFloat);
  const int64_t rows = num_inputs == 0 ? 0 : inputs.numel() / num_inputs;
  for (int64_t row = 0; row < rows; ++row) {
    (*phases_)(inputs.const_data_ptr<float>() + row * num_inputs, num_inputs,
               outputs.data_ptr<float>() + row * num_outputs, num_outputs);
  }
  return outputs.to(audio_BS.device());
}

at::Tensor resample(const at::Tensor& audio_BS, int64_t from_hz, int64_t to_hz) {
  return Resampler(from_hz, to_hz)(audio_BS);
}

}  // namespace s2s
