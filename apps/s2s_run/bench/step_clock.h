#pragma once
// Where a training step's time goes: marks at the hooks of a duplex model's parts, on the way
// forward and on the way back.

#include <map>
#include <string>
#include <vector>

#include "s2s/nn/block.h"

namespace s2s::run {

/// Seconds on a clock that only moves forward: wall time, or what this thread has computed.
double now_s(bool processor_time);

/// Attributes the time between two marks to the name of the second one. A part that the model does
/// not have, or that a step does not run, leaves its time with the next mark.
class StepClock : public BlockHooks {
 public:
  /// Puts itself at the hooks of `model`; both live as long as steps are run. `processor_time`:
  /// count what this thread computes instead of what passes, which a busy machine does not
  /// lengthen.
  StepClock(Block& model, bool processor_time);
  ~StepClock() override;

  /// Begins a step.
  void start();
  /// The time since the last mark belongs to `name`.
  void mark(const std::string& name);
  /// Seconds of the current step so far.
  double step_s() const;
  /// Median over the steps of each name's seconds, in the order of a step.
  std::vector<std::pair<std::string, double>> medians() const;
  /// Forgets the steps so far.
  void clear() { steps_.clear(); }

  at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) override;

 private:
  /// What is over when the hook is passed in each of the four ways; empty: nothing to say.
  struct Hook {
    std::string before, after, gradient_in, gradient_out;
  };
  void mark_gradient(const at::Tensor& x, const std::string& name);

  std::map<const Block*, Hook> hooks_;
  std::vector<Block*> blocks_;
  std::vector<std::map<std::string, double>> steps_;
  std::vector<std::string> order_;
  bool processor_time_;
  double last_s_ = 0;
};

}  // namespace s2s::run
