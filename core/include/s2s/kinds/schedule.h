#pragma once
// Schedule: the learning rate of each step. Kind `schedule`.

#include <cstdint>

namespace s2s {

/// Learning rate over optimizer steps.
class Schedule {
 public:
  virtual ~Schedule();
  /// step: 0-based optimizer step.
  virtual double learning_rate(int64_t step, double base_learning_rate) const = 0;
};

}  // namespace s2s
