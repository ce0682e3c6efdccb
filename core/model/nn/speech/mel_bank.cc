#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/speech/encoder_errors.h"
#include "s2s/nn/mel.h"

namespace s2s {
namespace {

// Slaney's scale: linear up to 1000 Hz, logarithmic above.
constexpr double kHzPerMel = 200.0 / 3;
constexpr double kBreakHz = 1000;
constexpr double kBreakMel = kBreakHz / kHzPerMel;
const double kLogStep = std::log(6.4) / 27.0;

double mel_of_hz(double hz) {
  return hz < kBreakHz ? hz / kHzPerMel : kBreakMel + std::log(hz / kBreakHz) / kLogStep;
}

double hz_of_mel(double mel) {
  return mel < kBreakMel ? kHzPerMel * mel : kBreakHz * std::exp(kLogStep * (mel - kBreakMel));
}

/// Corners of the triangles, evenly spaced in mel.
std::vector<double> corners_hz(const MelBank& bank, double high_hz) {
  const double low = mel_of_hz(bank.low_hz), high = mel_of_hz(high_hz);
  const int64_t count = bank.num_mels + 2;
  const double step = (high - low) / static_cast<double>(count - 1);
  std::vector<double> corners;
  for (int64_t i = 0; i < count; ++i) {
    const double mel = i + 1 == count ? high : low + static_cast<double>(i) * step;
    corners.push_back(hz_of_mel(mel));
  }
  return corners;
}

}  // namespace

at::Tensor mel_filterbank(const MelBank& bank) {
  const int64_t num_bins = bank.n_fft / 2 + 1;
  const double rate = static_cast<double>(bank.sample_rate_hz);
  const auto corners = corners_hz(bank, bank.high_hz > 0 ? bank.high_hz : rate / 2);
  at::Tensor weights = at::zeros({bank.num_mels, num_bins}, at::kFloat);
  auto cells = weights.accessor<float, 2>();
  for (int64_t m = 0; m < bank.num_mels; ++m) {
    const auto i = static_cast<size_t>(m);
    const double area = bank.slaney_norm ? 2.0 / (corners[i + 2] - corners[i]) : 1;
    for (int64_t n = 0; n < num_bins; ++n) {
      const double hz = static_cast<double>(n) * (rate / static_cast<double>(bank.n_fft));
      const double rise = (hz - corners[i]) / (corners[i + 1] - corners[i]);
      const double fall = (corners[i + 2] - hz) / (corners[i + 2] - corners[i + 1]);
      // librosa keeps the triangle in float before it scales it.
      const auto triangle = static_cast<float>(std::max(0.0, std::min(rise, fall)));
      cells[m][n] = static_cast<float>(triangle * area);
    }
  }
  return weights;
}

at::Tensor stft_window(const std::string& name, int64_t length, bool periodic) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (name == "hann") return at::hann_window(length, periodic, options);
  if (name == "hamming") return at::hamming_window(length, periodic, options);
  if (name == "blackman") return at::blackman_window(length, periodic, options);
  if (name == "bartlett") return at::bartlett_window(length, periodic, options);
  if (name == "none") return at::ones({length}, options);
  throw bad_encoder_value("window", name, "hann, hamming, blackman, bartlett or none");
}

}  // namespace s2s
