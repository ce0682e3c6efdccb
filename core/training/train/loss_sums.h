#pragma once

#include <map>
#include <string>
#include <vector>

#include "s2s/kinds/model.h"

namespace s2s {

/// The losses of a step's micro-batches, summed in float64 on their device. The host never waits.
class LossSums {
 public:
  void add(const LossTerms& loss);
  /// Names of the loss terms, in order.
  std::vector<std::string> names() const;
  /// The sum of the loss, then those of its terms in the order of `names`: float64, one dim. Needs
  /// at least one call of `add`.
  at::Tensor numbers() const;

 private:
  at::Tensor total_;
  std::map<std::string, at::Tensor> parts_;
};

}  // namespace s2s
