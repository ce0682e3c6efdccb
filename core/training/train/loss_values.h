#pragma once

#include <string>
#include <vector>

#include "s2s/kinds/speech_model.h"
#include "train/step_report.h"

namespace s2s {

/// The losses of a step's micro-batches. They stay on the device until `add_to` reads them all, so
/// that the host waits for the device once in a step.
class LossValues {
 public:
  void add(const LossTerms& loss);
  /// Adds them to the report's loss and parts, in float64 and in the order of `add`.
  void add_to(StepReport& report) const;

 private:
  void add(const std::string& name, const at::Tensor& value);

  std::vector<std::string> names_;  // "": the loss itself
  std::vector<at::Tensor> values_;
};

}  // namespace s2s
