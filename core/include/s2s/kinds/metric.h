#pragma once
// Metric: one value over a set of examples. Kind `metric`.

#include <string>

namespace s2s {

/// One number over a set of examples. Kind `metric`.
class Metric {
 public:
  virtual ~Metric();
  /// One example: what the model said, and what it should have said.
  virtual void add(const std::string& hypothesis, const std::string& reference) = 0;
  /// Over all examples that were added.
  virtual double value() const = 0;
};

}  // namespace s2s
