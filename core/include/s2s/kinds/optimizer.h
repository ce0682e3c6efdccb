#pragma once
// Optimizer: updates parameters from their gradients. Kind `optimizer`.

#include <cstdint>
#include <vector>

#include "s2s/nn/block.h"

namespace s2s {

class Optimizer {
 public:
  virtual ~Optimizer();
  /// Sets the parameters to update, and a learning-rate factor for each.
  virtual void attach(std::vector<NamedTensor> parameters, std::vector<double> lr_scales) = 0;
  /// One update from the parameters' gradients. learning_rate: dimensionless.
  virtual void step(double learning_rate) = 0;
  virtual double base_learning_rate() const = 0;
  virtual TensorMap state() const = 0;
  /// Errors: [checkpoint/optimizer] with all names that are missing, unexpected or of another size.
  virtual void restore(const TensorMap& state) = 0;
};

}  // namespace s2s
