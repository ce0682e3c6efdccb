#pragma once
// Where a training step's time goes: marks at the hooks of a duplex model's parts, on the way
// forward and on the way back, and the tensor operators.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s_run/bench/bench_device.h"

namespace s2s::run {

/// Seconds on a clock that only moves forward: wall time, or what this thread has computed.
double now_s(bool processor_time);

/// Attributes the time between two marks to the name of the second one. A part that the model does
/// not have, or that a step does not run, leaves its time with the next mark. Marks are moments of
/// the device: they are read when the steps are over, and the host waits for none of them before.
class StepClock : public BlockHooks {
 public:
  /// Puts itself at the hooks of `model`; both live as long as steps are run. `processor_time`:
  /// count what this thread computes instead of what passes, which a busy machine does not
  /// lengthen (CPU only).
  StepClock(Block& model, at::Device device, bool processor_time);
  ~StepClock() override;

  /// Begins a step.
  void start();
  /// The time since the last mark belongs to `name`.
  void mark(const std::string& name);
  /// Seconds of each step, from its begin to its last mark. Waits for the device.
  std::vector<double> step_s() const;
  /// Median over the steps of each name's seconds, in the order of a step. Waits for the device.
  std::vector<std::pair<std::string, double>> medians() const;
  /// Forgets the steps so far.
  void clear() { steps_.clear(); }

  at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) override;

 private:
  /// What is over when the hook is passed in each of the four ways; empty: nothing to say.
  struct Hook {
    std::string before, after, gradient_in, gradient_out;
  };
  struct Mark {
    std::string name;  // of what ends here; "" at the begin of a step
    Moment at;
  };
  void mark_gradient(const at::Tensor& x, const std::string& name);

  std::map<const Block*, Hook> hooks_;
  std::vector<Block*> blocks_;
  std::vector<std::vector<Mark>> steps_;
  std::vector<std::string> order_;
  at::Device device_;
  bool processor_time_;
};

struct OpTime {
  std::string name;  // "(backward)" after it inside a gradient computation
  double own_s = 0;  // without the operators it calls
  long calls = 0;
};

/// Records the operators of this thread, and of the backward passes that it starts, while it lives.
/// One at a time. On a device that computes asynchronously the times are those between events
/// before and after an operator: its work there, and the device's wait for the host where there was
/// one.
class OpProfile {
 public:
  explicit OpProfile(at::Device device);
  ~OpProfile();
  OpProfile(const OpProfile&) = delete;
  OpProfile& operator=(const OpProfile&) = delete;

  /// Most expensive first. Waits for the device.
  std::vector<OpTime> sorted() const;

 private:
  unsigned long handle_;
};

/// Counts the operators that this thread, and the backward passes that it starts, run while it
/// lives. Operators within others count, too. One at a time.
class OperatorCount {
 public:
  OperatorCount();
  ~OperatorCount();
  OperatorCount(const OperatorCount&) = delete;
  OperatorCount& operator=(const OperatorCount&) = delete;

  int64_t value() const;

 private:
  unsigned long handle_;
};

/// Milliseconds of each part of a step, in its order.
nlohmann::ordered_json split_json(const StepClock& clock);

/// The `count` most expensive operators, milliseconds and calls per step.
nlohmann::ordered_json ops_json(const OpProfile& profile, int64_t count, int64_t steps);

/// The middle value, or the mean of the two middle ones; 0 when there is none.
double median(std::vector<double> values);

/// The value below which the given share of the values lies, interpolated between two; 0 when there
/// is none.
double quantile(std::vector<double> values, double share);

}  // namespace s2s::run
