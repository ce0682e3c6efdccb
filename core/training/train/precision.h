#pragma once
// The dtypes of a run (trainer.precision), and the scale of its losses.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace s2s {

struct Precision {
  at::ScalarType parameter_type = at::kFloat;  // parameters and optimizer state
  /// Of matrix products; none: that of the parameters.
  std::optional<at::ScalarType> autocast;

  /// float16 has no room for small gradients: losses are multiplied.
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

/// The factor on losses that are trained in float16, whose gradients would vanish without it. It
/// changes as torch.amp.GradScaler's does.
class LossScale {
 public:
  static constexpr float kInitial = 65536;
  static constexpr float kGrowth = 2;
  static constexpr float kBackoff = 0.5;
  static constexpr int64_t kGrowthInterval = 2000;

  /// `on` false: the scale stays 1.
  explicit LossScale(bool on) : on_(on), scale_(on ? kInitial : 1) {}

  bool is_on() const { return on_; }
  float value() const { return scale_; }
  /// Updates without an infinite gradient since the scale changed.
  int64_t num_good() const { return num_good_; }
  /// After each step. `skipped`: its gradients were not finite.
  void update(bool skipped);
  void restore(float scale, int64_t num_good);

 private:
  bool on_;
  float scale_;
  int64_t num_good_ = 0;
};

}  // namespace s2s
