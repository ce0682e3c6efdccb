#include <ATen/ATen.h>

#include <cmath>

#include "s2s/decoder.h"
#include "s2s/error.h"

namespace s2s {
namespace {

/// Keeps short wavelengths, stretches long ones by factor, blends between.
double stretched_frequency(double inv_freq, const RotaryFacts& facts) {
  const double original = facts.original_max_position_embeddings;
  const double wavelength = 2 * M_PI / inv_freq;
  if (wavelength > original / facts.low_freq_factor) return inv_freq / facts.factor;
  if (wavelength < original / facts.high_freq_factor) return inv_freq;
  const double smooth = (original / wavelength - facts.low_freq_factor) /
                        (facts.high_freq_factor - facts.low_freq_factor);
  return (1 - smooth) * inv_freq / facts.factor + smooth * inv_freq;
}

}  // namespace

at::Tensor rotary_inv_freq(const RotaryFacts& facts, int64_t head_dim) {
  S2S_ASSERT(head_dim % 2 == 0, "rotary embedding turns pairs");
  at::Tensor table = at::empty({head_dim / 2}, at::TensorOptions().dtype(at::kFloat));
  float* values = table.mutable_data_ptr<float>();
  for (int64_t j = 0; j < head_dim / 2; ++j) {
    const double exponent = static_cast<double>(2 * j) / static_cast<double>(head_dim);
    double inv_freq = std::pow(facts.theta, -exponent);
    if (facts.scaling == RotaryScaling::kLinear) inv_freq /= facts.factor;
    if (facts.scaling == RotaryScaling::kByWavelength)
      inv_freq = stretched_frequency(inv_freq, facts);
    values[j] = static_cast<float>(inv_freq);
  }
  return table;
}

std::pair<at::Tensor, at::Tensor> Decoder::rotary_tables(int64_t begin, int64_t count,
                                                         at::Device device) {
  const int64_t needed = begin + count;
  if (!cos_TD_.defined() || cos_TD_.size(0) < needed || cos_TD_.device() != device) {
    const int64_t positions = std::max<int64_t>(256, 2 * needed);
    const at::Tensor inv_freq = rotary_inv_freq(facts_.rotary, facts_.shape.head_dim);
    const at::Tensor half = at::arange(positions).to(at::kFloat).unsqueeze(1) * inv_freq;
    const at::Tensor angles_TD = at::cat({half, half}, 1);
    cos_TD_ = angles_TD.cos().to(device);
    sin_TD_ = angles_TD.sin().to(device);
  }
  return {cos_TD_.narrow(0, begin, count), sin_TD_.narrow(0, begin, count)};
}

}  // namespace s2s
