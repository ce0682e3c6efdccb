// Designs a digital Butterworth filter by the bilinear transform.

#include <ATen/ATen.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "audio/effects.h"

namespace s2s::data {
namespace {

using Complex = std::complex<double>;

/// Coefficients of z^-k.
struct Filter {
  std::vector<double> b, a;
};

/// Returns the product of (1 - root z^-1); roots come in conjugate pairs.
std::vector<double> polynomial(const std::vector<Complex>& roots) {
  std::vector<Complex> product = {1};
  for (const Complex& root : roots) {
    product.emplace_back(0);
    for (size_t k = product.size() - 1; k > 0; --k) product[k] -= root * product[k - 1];
  }
  std::vector<double> real;
  for (const Complex& coefficient : product) real.push_back(coefficient.real());
  return real;
}

Filter butterworth(double cutoff_hz, double rate_hz, int64_t order) {
  constexpr double kRate = 2;  // of the bilinear transform, in units of the Nyquist frequency
  const double cutoff = cutoff_hz / (0.5 * rate_hz);
  const double warped = 2 * kRate * std::tan(std::numbers::pi * cutoff / kRate);
  std::vector<Complex> poles;
  Complex gain = std::pow(warped, static_cast<double>(order));
  for (int64_t m = 1 - order; m < order; m += 2) {
    const double angle =
        std::numbers::pi * static_cast<double>(m) / (2 * static_cast<double>(order));
    const Complex analog = -warped * std::exp(Complex(0, angle));
    poles.push_back((2 * kRate + analog) / (2 * kRate - analog));
    gain /= 2 * kRate - analog;
  }
  Filter filter{polynomial(std::vector<Complex>(static_cast<size_t>(order), -1)),
                polynomial(poles)};
  for (double& b : filter.b) b *= gain.real();
  return filter;
}

}  // namespace

at::Tensor low_pass(const at::Tensor& audio_S, double cutoff_hz, int64_t sample_rate_hz,
                    int64_t order) {
  const Filter filter = butterworth(cutoff_hz, static_cast<double>(sample_rate_hz), order);
  at::Tensor out_S = audio_S.to(at::kFloat).contiguous().clone();
  auto* const samples = out_S.data_ptr<float>();
  std::vector<double> z(static_cast<size_t>(order) + 1, 0.0);  // transposed direct form II
  for (int64_t s = 0; s < out_S.numel(); ++s) {
    const double x = samples[s], y = filter.b[0] * x + z[0];
    for (size_t k = 0; k + 1 < z.size(); ++k) {
      z[k] = z[k + 1] + filter.b[k + 1] * x - filter.a[k + 1] * y;
    }
    samples[s] = static_cast<float>(y);
  }
  return out_S;
}

}  // namespace s2s::data
