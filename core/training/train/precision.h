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

/// Turns autocast on for a scope if the precision uses it.
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

/// The loss scale of float16 training, which keeps small gradients from underflow. It changes like
/// the scale of torch.amp.GradScaler, on the device. The host does not wait.
class LossScale {
 public:
  static constexpr float kInitial = 65536;
  static constexpr float kGrowth = 2;
  static constexpr float kBackoff = 0.5;
  static constexpr int64_t kGrowthInterval = 2000;

  /// With `is_on` false, there is no scale.
  LossScale(bool is_on, at::Device device);

  bool is_on() const { return scale_.defined(); }
  /// float32 without dimensions, on the device; undefined: no scale. `update` changes it in place.
  const at::Tensor& value() const { return scale_; }
  /// Call this after each step. found_inf: float32, 1 when its gradients were not finite, else 0.
  void update(const at::Tensor& found_inf);

  /// The scale, and the number of updates with finite gradients since it last changed. Waits.
  float read() const;
  int64_t num_good() const;
  void restore(float scale, int64_t num_good);

 private:
  at::Tensor scale_, num_good_;
};

}  // namespace s2s
