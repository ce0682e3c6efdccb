#pragma once
// The update at the end of a step: norm, clipping, optimizer. Skips non-finite gradients. Decision
// record 0026.

#include <ATen/core/Tensor.h>

#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/strategy.h"

namespace s2s {

/// Numbers of an update, on the parameters' device. The host has not read them.
struct UpdateNumbers {
  at::Tensor grad_norm;  // float64, before clipping, of gradients without a loss scale
  at::Tensor found_inf;  // float32: 1 when the norm is not finite; nothing was changed then
};

class GradientUpdate {
 public:
  /// The objects are not owned. max_norm: of all gradients together; 0: no clipping.
  GradientUpdate(Block& model, ParallelStrategy& strategy, Optimizer& optimizer, double max_norm);
  /// Updates from complete gradients. loss_scale: the factor of the gradients, float32 without
  /// dimensions; undefined: none. hold: float32; above 0: changes nothing; undefined: no hold. In
  /// host memory, the host decides. On a device, the optimizer gets tensors and the host does not
  /// wait, unless the optimizer cannot take them.
  UpdateNumbers run(double learning_rate, const at::Tensor& loss_scale = {},
                    const at::Tensor& hold = {});

 private:
  UpdateNumbers run_on_host(double learning_rate, const at::Tensor& loss_scale,
                            const at::Tensor& hold);
  UpdateNumbers run_on_device(double learning_rate, const at::Tensor& loss_scale,
                              const at::Tensor& hold);
  /// The host scales the gradients.
  void step_plain(double learning_rate, const GradientScale& scale);

  Block& model_;
  ParallelStrategy& strategy_;
  Optimizer& optimizer_;
  double max_norm_;
  at::Device device_ = at::kCPU;  // of the parameters that the optimizer updates
};

}  // namespace s2s
