#include "train/backward_update.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "s2s/parallel/gradients.h"
#include "train/train_errors.h"

namespace s2s {

class BackwardUpdate::Arrival : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit Arrival(BackwardUpdate& update) : update_(update) {}
  void operator()(const torch::autograd::Variable& parameter) override {
    update_.arrived(parameter);
  }

 private:
  BackwardUpdate& update_;
};

BackwardUpdate::BackwardUpdate(const std::vector<NamedTensor>& parameters, Optimizer& optimizer)
    : optimizer_(optimizer) {
  for (const NamedTensor& parameter : parameters) {
    parameters_.push_back(*parameter.tensor);
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_.back(),
                                                   std::make_unique<Arrival>(*this));
  }
}

BackwardUpdate::~BackwardUpdate() {
  for (const at::Tensor& parameter : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

void BackwardUpdate::begin(double learning_rate) {
  learning_rate_ = learning_rate;
  norms_.clear();
  found_inf_ = at::Tensor();
}

/// The parameter is the only one that has a gradient.
void BackwardUpdate::arrived(const at::Tensor& parameter) {
  const at::NoGradGuard no_grad;
  norms_.push_back(gradient_norm({parameter.grad()}));
  const at::Tensor is_wrong = norms_.back().isfinite().logical_not().to(at::kFloat);
  found_inf_ = found_inf_.defined() ? at::maximum(found_inf_, is_wrong) : is_wrong;
  if (!optimizer_.step_scaled(learning_rate_, {{}, found_inf_})) {
    throw_no_update_in_backward("the optimizer takes all gradients at once");
  }
  parameter.mutable_grad().reset();
}

UpdateNumbers BackwardUpdate::end() const {
  const at::NoGradGuard no_grad;
  if (norms_.empty()) return {at::zeros({}, at::kDouble), at::zeros({}, at::kFloat)};
  return {at::stack(norms_).norm(), found_inf_};
}

}  // namespace s2s
