#pragma once
// The update at the end of a step: norm, clipping, the optimizer, and the skipping of gradients
// that are not finite. Decision record 0026.

#include <ATen/core/Tensor.h>

#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/strategy.h"

namespace s2s {

/// Numbers of an update. They are where the parameters are; on a device the host has not read them.
struct UpdateNumbers {
  at::Tensor grad_norm;  // float64, before clipping, of gradients without a loss scale
  at::Tensor found_inf;  // float32: 1 when the norm is not finite; nothing was changed then
};

class GradientUpdate {
 public:
  /// The objects are not owned. max_norm: of all gradients together; 0: no clipping.
  GradientUpdate(Block& model, ParallelStrategy& strategy, Optimizer& optimizer, double max_norm);
  /// Makes the update from complete gradients. loss_scale: the factor that they have, float32
  /// without dimensions; undefined: none. hold: float32, above 0: changes nothing, whatever the
  /// gradients; undefined: no hold. In host memory, decisions are the host's. On a device
  /// they are tensors that the optimizer gets, and the host waits for nothing, unless the optimizer
  /// cannot take them.
  UpdateNumbers run(double learning_rate, const at::Tensor& loss_scale = {},
                    const at::Tensor& hold = {});

 private:
  UpdateNumbers run_on_host(double learning_rate, const at::Tensor& loss_scale,
                            const at::Tensor& hold);
  UpdateNumbers run_on_device(double learning_rate, const at::Tensor& loss_scale,
                              const at::Tensor& hold);
  /// Scaled by the host.
  void step_plain(double learning_rate, const GradientScale& scale);

  Block& model_;
  ParallelStrategy& strategy_;
  Optimizer& optimizer_;
  double max_norm_;
  at::Device device_ = at::kCPU;  // of the parameters that the optimizer updates
};

}  // namespace s2s
