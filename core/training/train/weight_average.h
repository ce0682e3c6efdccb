#pragma once
// An exponential moving average (EMA) of the trained weights (exp_manager.ema).

#include <memory>
#include <string>
#include <vector>

#include "config/run_blocks.h"
#include "s2s/kinds/optimizer.h"

namespace s2s {

/// The average of parameter NAME is the optimizer state NAME.ema.
inline constexpr const char* kAverageSuffix = ".ema";

/// Updates parameters with another optimizer, and averages this rank's shard of each after the
/// update: average = decay * average + (1 - decay) * parameter. The averages begin with the values
/// before the first update. They are float32, also of parameters in bfloat16, where a decay of
/// 0.999 would be lost in rounding. They are part of the optimizer's state, and therefore of
/// checkpoints: sharded like the parameters, and loaded on any layout.
/// Source: nemo/collections/common/callbacks/ema.py, EMAOptimizer.
class AveragingOptimizer : public Optimizer {
 public:
  AveragingOptimizer(std::unique_ptr<Optimizer> updates, const EmaBlock& settings);

  void attach(std::vector<NamedTensor> parameters, std::vector<double> lr_scales) override;
  void step(double learning_rate) override;
  /// Neither parameters nor averages change where `found_inf` is 1, but the step counts for
  /// every_n_steps.
  bool step_scaled(double learning_rate, const GradientScale& scale) override;
  double base_learning_rate() const override { return updates_->base_learning_rate(); }
  TensorMap state() const override;
  Optimizer& updates() { return *updates_; }
  const Optimizer& updates() const { return *updates_; }
  /// A state without averages, of a run that had none, begins them with the weights at the next
  /// update. Errors: those of the other optimizer, [checkpoint/optimizer].
  void restore(const TensorMap& state) override;

  /// Exchanges the parameters with their averages; a second call restores both. Does nothing
  /// before the first update. Call after_update of the strategy afterwards. Returns true if the
  /// parameters have changed.
  bool swap();

 private:
  struct Averaged {
    std::string name;
    at::Tensor parameter;
    at::Tensor average;
    at::Tensor original;  // while swapped: the parameter, where its type differs
  };
  void begin();
  void update(const at::Tensor& found_inf);

  std::unique_ptr<Optimizer> updates_;
  EmaBlock settings_;
  std::vector<Averaged> all_;
  at::Tensor num_steps_;  // float64: part of the state
  bool has_begun_ = false;
  bool is_swapped_ = false;
};

bool has_averages(const TensorMap& state);
/// `state` without averages, for an optimizer that keeps none.
TensorMap without_averages(TensorMap state);

}  // namespace s2s
