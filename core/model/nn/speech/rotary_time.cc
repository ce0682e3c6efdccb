#include <ATen/ATen.h>

#include <numbers>

#include "nn/speech/connector.h"

namespace s2s {
namespace {

constexpr double kDefaultTheta = 1200;
constexpr double kTurn = 2 * std::numbers::pi;

double theta_of(const RotaryTimeOptions& options) {
  return options.theta.value_or(options.max_time ? *options.max_time / kTurn : kDefaultTheta);
}

}  // namespace

RotaryTime::RotaryTime(const RotaryTimeOptions& options, int64_t dim, double frame_rate_hz)
    : dim_(dim),
      theta_(theta_of(options)),
      frame_s_(1 / frame_rate_hz),
      factor_(options.max_time ? kTurn / *options.max_time : 1) {
  const int64_t counted = options.dim.value_or(dim);
  num_rotated_ =
      static_cast<int64_t>(static_cast<double>(counted) * options.rotary_fraction) / 2 * 2;
  if (counted > dim) {
    throw_connector("rote.dim", std::to_string(counted),
                    "at most the encoder's width " + std::to_string(dim));
  }
  if (num_rotated_ < 2) {
    throw_connector("rote.rotary_fraction", std::to_string(options.rotary_fraction),
                    "two or more of " + std::to_string(counted) + " channels");
  }
}

at::Tensor RotaryTime::operator()(const at::Tensor& x_BTF, int64_t first_frame) const {
  const auto options = x_BTF.options().dtype(at::kFloat).requires_grad(false);
  const int64_t frames = x_BTF.size(1);
  const at::Tensor times_T =
      (at::arange(first_frame, first_frame + frames, options) + 0.5) * frame_s_ * factor_;
  const at::Tensor steps = at::arange(0, num_rotated_, 2, options) / num_rotated_;
  const at::Tensor angles_TR = times_T.unsqueeze(1) * at::pow(theta_, steps).reciprocal();
  const at::Tensor cos = angles_TR.cos().unsqueeze(1), sin = angles_TR.sin().unsqueeze(1);
  // Neighboring channels are a pair; every output of the encoder rotates alike.
  const at::Tensor x = x_BTF.to(at::kFloat).unflatten(-1, {x_BTF.size(-1) / dim_, dim_});
  const at::Tensor pairs = x.narrow(-1, 0, num_rotated_).unflatten(-1, {num_rotated_ / 2, 2});
  const at::Tensor even = pairs.select(-1, 0), odd = pairs.select(-1, 1);
  const at::Tensor rotated =
      at::stack({even * cos - odd * sin, odd * cos + even * sin}, -1).flatten(-2);
  const at::Tensor kept = x.narrow(-1, num_rotated_, dim_ - num_rotated_);
  return at::cat({rotated, kept}, -1).flatten(-2).to(x_BTF.scalar_type());
}

}  // namespace s2s
