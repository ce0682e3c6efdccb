#pragma once
// Optimizer: updates parameters from their gradients. Kind `optimizer`.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/nn/block.h"

namespace s2s {

/// How an update takes the gradients. Both tensors are float32 without dimensions, where the
/// parameters are. The host does not know their values.
struct GradientScale {
  at::Tensor divisor;    // the gradients are divided by it; undefined: taken as they are
  at::Tensor found_inf;  // 1: gradients are not finite and nothing changes; 0: an update
};

/// Updates parameters from their gradients.
class Optimizer {
 public:
  virtual ~Optimizer();
  /// Sets the parameters to update, and a learning-rate factor for each.
  virtual void attach(std::vector<NamedTensor> parameters, std::vector<double> lr_scales) = 0;
  /// One update from the parameters' gradients. learning_rate: dimensionless.
  virtual void step(double learning_rate) = 0;
  /// The same for parameters on a device, without a wait of the host: divides the gradients as it
  /// reads them, and changes neither parameters nor state when `found_inf` is 1. Parameters
  /// without a gradient stay as they are. Returns false, with nothing done, if the optimizer has no
  /// such update: the caller then reads `scale`, scales the gradients and calls `step`. Default:
  /// false.
  virtual bool step_scaled(double learning_rate, const GradientScale& scale);
  virtual double base_learning_rate() const = 0;
  virtual TensorMap state() const = 0;
  /// Errors: [checkpoint/optimizer] with all names that are missing, unexpected or of another size.
  virtual void restore(const TensorMap& state) = 0;
};

/// True for the parameters that exclude_norm_from_wd excludes.
/// Source: NeMo's configure_optimizers_exclude_norm_from_wd.
bool is_norm_or_bias(std::string name);
/// Copies `stored` to the tensors of `own`, an optimizer's state. Changes nothing on an error.
/// Errors: those of Optimizer::restore.
void restore_state(const TensorMap& own, const TensorMap& stored);

}  // namespace s2s
