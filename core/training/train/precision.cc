#include "train/precision.h"

#include <ATen/autocast_mode.h>

#include <cmath>

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

// Source: aten/src/ATen/native/cuda/AmpKernels.cu, amp_update_scale.
void LossScale::update(bool skipped) {
  if (!on_) return;
  if (skipped) {
    scale_ *= kBackoff;
    num_good_ = 0;
  } else if (++num_good_ == kGrowthInterval) {
    const float grown = scale_ * kGrowth;
    if (std::isfinite(grown)) scale_ = grown;
    num_good_ = 0;
  }
}

void LossScale::restore(float scale, int64_t num_good) {
  if (!on_) return;
  scale_ = scale;
  num_good_ = num_good;
}

}  // namespace s2s
