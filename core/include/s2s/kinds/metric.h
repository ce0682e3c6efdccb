#pragma once

#include <string>

namespace s2s {

/// Metric: one number over a set of examples. Kind `metric`.
class Metric {
 public:
  virtual ~Metric();
  /// Adds one example: the model's text and the expected text.
  virtual void add(const std::string& hypothesis, const std::string& reference) = 0;
  /// The metric over all added examples.
  virtual double value() const = 0;
};

}  // namespace s2s
