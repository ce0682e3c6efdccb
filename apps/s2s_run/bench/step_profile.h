#pragma once
// Profiles a training step: marks times at the hooks of a duplex model's parts, in forward and
// backward, and records tensor operators.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/moment.h"
#include "s2s/nn/block.h"

namespace s2s::run {

/// Assigns the time between two marks to the name of the second one. If a step does not run a part,
/// its time counts for the next mark. Marks are moments of the device. They are read after the
/// steps, so that the host does not wait in between.
class StepClock : public BlockHooks {
 public:
  /// Sets the hooks of `model`, which must stay alive while steps run; null: only `mark` does.
  /// `processor_time`: count CPU time of this thread instead of wall time, so that other load on
  /// the machine does not matter (CPU only).
  StepClock(Block* model, at::Device device, bool processor_time);
  ~StepClock() override;

  void start();
  /// Adds the time since the last mark to `name`.
  void mark(const std::string& name);
  /// Returns the seconds of each step, from its start to its last mark. Waits for the device.
  std::vector<double> step_s() const;
  /// Returns the median seconds of each name over the steps, in the order of a step. Waits for the
  /// device.
  std::vector<std::pair<std::string, double>> medians() const;
  /// Forgets the steps so far.
  void clear() { steps_.clear(); }

  at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) override;

 private:
  /// The names to mark when the hook is passed: before and after forward, and for the gradients;
  /// empty: no mark.
  struct Hook {
    std::string before, after, gradient_in, gradient_out;
  };
  struct Mark {
    std::string name;  // of what ends here; "" at the start of a step
    Moment at;
  };
  void mark_gradient(const at::Tensor& x, const std::string& name);
  /// Until the device has passed the last mark, and so all of them.
  void wait() const;

  std::map<const Block*, Hook> hooks_;
  std::vector<Block*> blocks_;
  std::vector<std::vector<Mark>> steps_;
  std::vector<std::string> order_;
  at::Device device_;
  bool processor_time_;
};

struct OpTime {
  std::string name;  // followed by "(backward)" inside the backward pass
  double own_s = 0;  // excluding the operators that it calls
  long calls = 0;
};

/// Records the operators of this thread, and of the backward passes that it starts, during its
/// lifetime. Only one may exist at a time. On an asynchronous device a time is that between events
/// before and after the operator: its work there, and the time in which the device waited for the
/// host.
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

/// Milliseconds of each part of a step, in order.
nlohmann::ordered_json split_json(const StepClock& clock);

/// The `count` most expensive operators, with milliseconds and calls per step.
nlohmann::ordered_json ops_json(const OpProfile& profile, int64_t count, int64_t steps);

/// The median; 0 when there are no values.
double median(std::vector<double> values);

}  // namespace s2s::run
