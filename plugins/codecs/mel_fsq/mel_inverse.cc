#include "mel_inverse.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace s2s::mel_fsq {

namespace {
constexpr double kTiny = 1e-20;
}

MelInverse::MelInverse(const at::Tensor& bank_FN, int64_t iterations)
    : bank_FN_(bank_FN.contiguous()), bank_NF_(bank_FN.t().contiguous()), iterations_(iterations) {
  const at::Tensor area_F1 = bank_FN_.sum(1, /*keepdim=*/true).clamp_min(kTiny);
  const at::Tensor share_FN = bank_FN_ / area_F1;  // rows add up to one
  // A band's power over its area is the mean power of its bins.
  start_FN_ = share_FN / share_FN.sum(0).clamp_min(kTiny) / area_F1;
  weight_N_ = bank_FN_.sum(0).clamp_min(kTiny);
}

at::Tensor MelInverse::operator()(const at::Tensor& mel_F) const {
  at::Tensor power_N = at::matmul(mel_F, start_FN_);
  for (int64_t i = 0; i < iterations_; ++i) {
    const at::Tensor ratio_F = mel_F / (at::matmul(power_N, bank_NF_) + kTiny);
    power_N = power_N * at::matmul(ratio_F, bank_FN_) / weight_N_;
  }
  return power_N.sqrt_();
}

}  // namespace s2s::mel_fsq
