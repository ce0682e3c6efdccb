#include "train/precision.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include "train/train_errors.h"

namespace s2s {

Precision parse_precision(const std::string& text, const std::string& origin) {
  if (text == "32-true" || text == "32" || text == "fp32") return {at::kFloat, std::nullopt};
  if (text == "bf16-true") return {at::kBFloat16, std::nullopt};
  if (text == "bf16-mixed" || text == "bf16") return {at::kFloat, at::kBFloat16};
  if (text == "16-mixed" || text == "16" || text == "fp16") return {at::kFloat, at::kHalf};
  throw_unknown_precision(text, origin);
}

AutocastScope::AutocastScope(const Precision& precision, at::DeviceType device)
    : on_(precision.autocast.has_value()), device_(device) {
  if (!on_) return;
  previous_ = at::autocast::is_autocast_enabled(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, *precision.autocast);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, previous_);
}

LossScale::LossScale(bool is_on, at::Device device) {
  if (!is_on) return;
  scale_ = at::full({}, kInitial, at::TensorOptions().device(device).dtype(at::kFloat));
  num_good_ = at::zeros({}, scale_.options().dtype(at::kInt));
}

void LossScale::update(const at::Tensor& found_inf) {
  if (!is_on()) return;
  at::_amp_update_scale_(scale_, num_good_, found_inf.to(scale_.device(), /*non_blocking=*/true),
                         kGrowth, kBackoff, kGrowthInterval);
}

float LossScale::read() const { return scale_.item<float>(); }

int64_t LossScale::num_good() const { return num_good_.item<int>(); }

void LossScale::restore(float scale, int64_t num_good) {
  if (!is_on()) return;
  scale_.fill_(scale);
  num_good_.fill_(num_good);
}

}  // namespace s2s
