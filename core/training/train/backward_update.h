#pragma once
// Updates during the backward: each parameter is updated when its gradient is complete, and the
// gradient is freed. So the gradients never exist together, which saves memory.

#include <ATen/core/Tensor.h>

#include <vector>

#include "s2s/kinds/optimizer.h"
#include "train/gradient_update.h"

namespace s2s {

/// There is no clipping, because the norm of all gradients is known too late. Non-finite gradients
/// skip the updates of their own and all later parameters of the backward. Otherwise parameters get
/// the same bits as with GradientUpdate.
class BackwardUpdate {
 public:
  /// parameters: those that the optimizer updates. They and the optimizer must stay alive.
  /// Errors: [config/update-in-backward], in the backward, when the optimizer has no `step_scaled`.
  BackwardUpdate(const std::vector<NamedTensor>& parameters, Optimizer& optimizer);
  ~BackwardUpdate();
  BackwardUpdate(const BackwardUpdate&) = delete;
  BackwardUpdate& operator=(const BackwardUpdate&) = delete;

  /// Call it before the backward of a step, and `end` after it.
  void begin(double learning_rate);
  UpdateNumbers end() const;

 private:
  class Arrival;
  void arrived(const at::Tensor& parameter);

  Optimizer& optimizer_;
  std::vector<at::Tensor> parameters_;
  double learning_rate_ = 0;
  std::vector<at::Tensor> norms_;  // of this step's gradients so far
  at::Tensor found_inf_;           // of any of them
};

}  // namespace s2s
