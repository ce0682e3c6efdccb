#pragma once
// The factor on losses that are trained in float16, whose gradients would vanish without it. It
// changes as torch.amp.GradScaler's does.

#include <cstdint>

namespace s2s {

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
