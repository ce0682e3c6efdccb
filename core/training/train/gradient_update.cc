#include "train/gradient_update.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

namespace s2s {
namespace {

constexpr double kEpsilon = 1e-6;  // as in torch.nn.utils.clip_grad_norm_

at::Tensor flag(const at::Tensor& is_set) { return is_set.to(at::kFloat); }

/// What gradients with the norm `norm` are divided by. Undefined: nothing.
at::Tensor divisor_of(const at::Tensor& norm, const at::Tensor& loss_scale, double max_norm) {
  if (max_norm <= 0) return loss_scale;
  const at::Tensor excess = ((norm + kEpsilon) / max_norm).clamp_min(1).to(at::kFloat);
  return loss_scale.defined() ? excess * loss_scale : excess;
}

}  // namespace

GradientUpdate::GradientUpdate(Block& model, ParallelStrategy& strategy, Optimizer& optimizer,
                               double max_norm)
    : model_(model), strategy_(strategy), optimizer_(optimizer), max_norm_(max_norm) {
  const std::vector<NamedTensor> trained = strategy.optimizer_parameters(model);
  if (!trained.empty()) device_ = trained.front().tensor->device();
}

UpdateNumbers GradientUpdate::run(double learning_rate, const at::Tensor& loss_scale,
                                  const at::Tensor& hold) {
  const at::NoGradGuard no_grad;
  return device_.is_cpu() ? run_on_host(learning_rate, loss_scale, hold)
                          : run_on_device(learning_rate, loss_scale, hold);
}

UpdateNumbers GradientUpdate::run_on_host(double learning_rate, const at::Tensor& loss_scale,
                                          const at::Tensor& hold) {
  if (loss_scale.defined()) strategy_.scale_gradients(model_, 1 / loss_scale.item<double>());
  const at::Tensor norm = strategy_.grad_norm(model_).cpu();
  const auto value = norm.item<double>();
  const double scale = max_norm_ / (value + kEpsilon);
  const bool is_held = hold.defined() && hold.item<float>() > 0;
  if (std::isfinite(value) && !is_held) {
    if (max_norm_ > 0 && scale < 1) strategy_.scale_gradients(model_, scale);
    optimizer_.step(learning_rate);
    strategy_.after_update(model_);
  }
  return {norm, flag(norm.isfinite().logical_not())};
}

UpdateNumbers GradientUpdate::run_on_device(double learning_rate, const at::Tensor& loss_scale,
                                            const at::Tensor& hold) {
  const at::Tensor scaled_norm = strategy_.grad_norm(model_).to(device_, /*non_blocking=*/true);
  const at::Tensor norm = loss_scale.defined() ? scaled_norm / loss_scale : scaled_norm;
  const at::Tensor is_wrong = flag(norm.isfinite().logical_not());
  const GradientScale scale = {divisor_of(norm, loss_scale, max_norm_),
                               hold.defined() ? at::maximum(is_wrong, hold) : is_wrong};
  if (!optimizer_.step_scaled(learning_rate, scale)) step_plain(learning_rate, scale);
  strategy_.after_update(model_);
  return {norm, scale.found_inf};
}

void GradientUpdate::step_plain(double learning_rate, const GradientScale& scale) {
  if (scale.found_inf.item<float>() != 0) return;
  if (scale.divisor.defined()) strategy_.scale_gradients(model_, 1 / scale.divisor.item<double>());
  optimizer_.step(learning_rate);
}

}  // namespace s2s
