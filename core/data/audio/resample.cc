#include "s2s/data/resample.h"

#include <ATen/ATen.h>

#include <cmath>

#include "audio/polyphase.h"
#include "audio/sinc_kernel.h"

namespace s2s {

Resampler::Resampler(int64_t from_hz, int64_t to_hz, bool double_kernel) {
  const data::SincKernel kernel = data::sinc_kernel(from_hz, to_hz, double_kernel);
  from_ = kernel.from;
  to_ = kernel.to;
  if (from_ == to_) return;
  phases_ = std::make_shared<const data::Polyphase>(
      from_, kernel.starts, kernel.weights.const_data_ptr<float>(), kernel.weights.size(1));
}

int64_t Resampler::num_samples(int64_t num_input_samples) const {
  if (from_ == to_) return num_input_samples;
  const double exact = static_cast<double>(to_ * num_input_samples) / static_cast<double>(from_);
  return static_cast<int64_t>(std::ceil(static_cast<float>(exact)));
}

at::Tensor Resampler::operator()(const at::Tensor& audio_BS) const {
  if (from_ == to_) return audio_BS;
  const int64_t num_inputs = audio_BS.size(-1);
  // At most one frame after the last one that begins inside, because torchaudio's convolution ends
  // there.
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
