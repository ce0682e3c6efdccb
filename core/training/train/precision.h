#pragma once
// The dtypes of a run (trainer.precision) and the loss scale.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace s2s {

struct Precision {
  at::ScalarType parameter_type = at::kFloat;  // parameters and optimizer state
  /// Dtype of matrix products under autocast. Not set: matrix products use `parameter_type`.
  std::optional<at::ScalarType> autocast;

  /// Small gradients underflow in float16, so the loss is multiplied by a scale.
  bool scales_loss() const { return autocast == at::kHalf; }
};

/// Parses "32-true" (also 32, fp32), "bf16-true", "bf16-mixed" or "16-mixed" (also fp16).
/// Errors: [config/precision] with the origin, the value and the known values.
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

/// The loss scale of float16 training. Without it, small gradients underflow to zero. It changes in
/// the same way as the scale of torch.amp.GradScaler.
class LossScale {
 public:
  static constexpr float kInitial = 65536;
  static constexpr float kGrowth = 2;
  static constexpr float kBackoff = 0.5;
  static constexpr int64_t kGrowthInterval = 2000;

  /// With `on` false, the scale is always 1.
  explicit LossScale(bool on) : on_(on), scale_(on ? kInitial : 1) {}

  bool is_on() const { return on_; }
  float value() const { return scale_; }
  /// Number of updates with finite gradients since the scale last changed.
  int64_t num_good() const { return num_good_; }
  /// Call this after each step. `skipped`: the gradients of the step were not finite.
  void update(bool skipped);
  void restore(float scale, int64_t num_good);

 private:
  bool on_;
  float scale_;
  int64_t num_good_ = 0;
};

}  // namespace s2s
