#pragma once
// Magnitudes of a spectrum from its mel bands.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace s2s::mel_fsq {

/// Finds a non-negative power spectrum whose mel bands are the given ones, by multiplicative
/// updates that lessen the Kullback-Leibler divergence (Lee and Seung 2001; the bank plays the
/// fixed factor).
class MelInverse {
 public:
  MelInverse(const at::Tensor& bank_FN, int64_t iterations);
  /// mel power [..., F] -> magnitudes [..., N].
  at::Tensor operator()(const at::Tensor& mel_F) const;

 private:
  at::Tensor bank_FN_, bank_NF_;
  at::Tensor start_FN_;  // spreads each band over its bins
  at::Tensor weight_N_;  // what the bank adds up to in each bin
  int64_t iterations_;
};

}  // namespace s2s::mel_fsq
