#pragma once
// Number types of a run: trainer.precision.

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

namespace s2s {

struct Precision {
  at::ScalarType parameter_type = at::kFloat;  // parameters and optimizer state
  /// Of matrix products; none: that of the parameters.
  std::optional<at::ScalarType> autocast;

  /// float16 has no room for small gradients: losses are multiplied (train/loss_scale.h).
  bool scales_loss() const { return autocast == at::kHalf; }
};

/// "32-true" (also 32, fp32), "bf16-true", "bf16-mixed", "16-mixed" (also fp16).
/// Errors: [config/precision] with the place, the value and what is known.
Precision parse_precision(const std::string& text, const std::string& origin);

/// Turns autocast on for a scope when the precision asks for it.
class AutocastScope {
 public:
  AutocastScope(const Precision& precision, at::DeviceType device);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  bool on_;
  at::DeviceType device_;
  bool previous_ = false;
};

}  // namespace s2s
