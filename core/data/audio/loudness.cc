// Computes the loudness of ITU-R BS.1770-4.

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "audio/effects.h"

namespace s2s::data {
namespace {

constexpr double kChannelGains[] = {1.0, 1.0, 1.0, 1.41, 1.41};
constexpr int64_t kMostChannels = 5;
constexpr double kAbsoluteGate = -70;  // LUFS
/// LU below the mean of the blocks that pass the absolute gate.
constexpr double kRelativeGate = -10;
constexpr double kStep = 0.25;  // distance of blocks, as a share of their length

struct Biquad {
  double b0, b1, b2, a1, a2;

  /// Transposed direct form II in double; each stage's output is rounded to float.
  void run(std::vector<float>& samples) const {
    double z1 = 0, z2 = 0;
    for (float& sample : samples) {
      const double x = sample, y = b0 * x + z1;
      z1 = b1 * x - a1 * y + z2;
      z2 = b2 * x - a2 * y;
      sample = static_cast<float>(y);
    }
  }
};

// Both filters are from R. Bristow-Johnson's audio equalizer cookbook.
Biquad high_shelf(double gain_db, double q, double cutoff_hz, double rate_hz) {
  const double a = std::pow(10.0, gain_db / 40), w = 2 * std::numbers::pi * (cutoff_hz / rate_hz);
  const double c = std::cos(w), root = 2 * std::sqrt(a) * (std::sin(w) / (2 * q));
  const double a0 = (a + 1) - (a - 1) * c + root;
  return {a * ((a + 1) + (a - 1) * c + root) / a0, -2 * a * ((a - 1) + (a + 1) * c) / a0,
          a * ((a + 1) + (a - 1) * c - root) / a0, 2 * ((a - 1) - (a + 1) * c) / a0,
          ((a + 1) - (a - 1) * c - root) / a0};
}

Biquad high_pass(double q, double cutoff_hz, double rate_hz) {
  const double w = 2 * std::numbers::pi * (cutoff_hz / rate_hz);
  const double c = std::cos(w), alpha = std::sin(w) / (2 * q), a0 = 1 + alpha;
  return {(1 + c) / 2 / a0, -(1 + c) / a0, (1 + c) / 2 / a0, -2 * c / a0, (1 - alpha) / a0};
}

/// Mean squares of the weighted signal, [channel][block].
using BlockPowers = std::vector<std::vector<double>>;

BlockPowers block_powers(const at::Tensor& audio_CS, double rate, double block_s) {
  const double duration_s = static_cast<double>(audio_CS.size(1)) / rate;
  const auto num_blocks =
      static_cast<int64_t>(std::nearbyint((duration_s - block_s) / (block_s * kStep)) + 1);
  const Biquad shelf = high_shelf(4.0, 1 / std::numbers::sqrt2, 1500, rate);
  const Biquad pass = high_pass(0.5, 38, rate);
  const at::Tensor rows_CS = audio_CS.contiguous();
  BlockPowers powers;
  for (int64_t c = 0; c < rows_CS.size(0); ++c) {
    const float* row = rows_CS.const_data_ptr<float>() + c * rows_CS.size(1);
    std::vector<float> weighted(row, row + rows_CS.size(1));
    shelf.run(weighted);
    pass.run(weighted);
    std::vector<double>& blocks = powers.emplace_back();
    for (int64_t j = 0; j < num_blocks; ++j) {
      const auto at = static_cast<double>(j) * kStep;
      const auto begin = static_cast<size_t>(block_s * at * rate);
      const size_t end = std::min(weighted.size(), static_cast<size_t>(block_s * (at + 1) * rate));
      double sum = 0;
      for (size_t i = begin; i < end; ++i) sum += static_cast<double>(weighted[i]) * weighted[i];
      blocks.push_back(sum / (block_s * rate));
    }
  }
  return powers;
}

double loudness_of(double power) { return -0.691 + 10 * std::log10(power); }

/// Returns the loudness of the mean power of all blocks that pass both gates.
double gated_loudness(const BlockPowers& powers, double relative_gate) {
  std::vector<double> sums(powers.size());
  int64_t num_blocks = 0;
  for (size_t j = 0; j < powers.front().size(); ++j) {
    double power = 0;
    for (size_t c = 0; c < powers.size(); ++c) power += kChannelGains[c] * powers[c][j];
    const double loudness = loudness_of(power);
    if (!(loudness >= kAbsoluteGate) || !(loudness > relative_gate)) continue;
    for (size_t c = 0; c < powers.size(); ++c) sums[c] += powers[c][j];
    ++num_blocks;
  }
  if (num_blocks == 0) return -std::numeric_limits<double>::infinity();
  double power = 0;
  for (size_t c = 0; c < powers.size(); ++c) {
    power += kChannelGains[c] * (sums[c] / static_cast<double>(num_blocks));
  }
  return loudness_of(power);
}

}  // namespace

double measure_loudness(const at::Tensor& audio_CS, int64_t sample_rate_hz, double block_s) {
  if (audio_CS.size(0) > kMostChannels) {
    throw std::runtime_error("loudness is defined for at most five channels, there are " +
                             std::to_string(audio_CS.size(0)));
  }
  const BlockPowers powers = block_powers(audio_CS, static_cast<double>(sample_rate_hz), block_s);
  const double infinity = std::numeric_limits<double>::infinity();
  return gated_loudness(powers, gated_loudness(powers, -infinity) + kRelativeGate);
}

at::Tensor normalize_loudness(const at::Tensor& audio_CS, double target_lufs,
                              int64_t sample_rate_hz) {
  if (audio_CS.size(1) == 0) return audio_CS;
  const double duration_s =
      static_cast<double>(audio_CS.size(1)) / static_cast<double>(sample_rate_hz);
  const double loudness =
      measure_loudness(audio_CS, sample_rate_hz, std::min(0.4, duration_s - 1e-10));
  if (std::isinf(loudness)) return audio_CS;
  return (audio_CS.to(at::kDouble) * std::pow(10.0, (target_lufs - loudness) / 20)).to(at::kFloat);
}

}  // namespace s2s::data
