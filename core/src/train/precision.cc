#include "train/precision.h"

#include <ATen/autocast_mode.h>

#include "train/train_errors.h"

namespace s2s {

Precision parse_precision(const std::string& text, const std::string& origin) {
  if (text == "32-true" || text == "32" || text == "fp32") return {at::kFloat, false};
  if (text == "bf16-true") return {at::kBFloat16, false};
  if (text == "bf16-mixed" || text == "bf16") return {at::kFloat, true};
  throw_unknown_precision(text, origin);
}

AutocastScope::AutocastScope(const Precision& precision, at::DeviceType device)
    : on_(precision.autocast_bf16), device_(device) {
  if (!on_) return;
  previous_ = at::autocast::is_autocast_enabled(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, at::kBFloat16);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!on_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, previous_);
}

}  // namespace s2s
