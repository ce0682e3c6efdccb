#include "optimizer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace PLUGIN_NAME {

void Optimizer::attach(std::vector<s2s::NamedTensor> parameters, std::vector<double> lr_scales) {
  all_.clear();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& parameter = *parameters[i].tensor;
    all_.push_back(
        {parameters[i].name, parameter, lr_scales[i], at::zeros_like(parameter.detach())});
  }
}

// Parameters without a gradient stay as they are, as in PyTorch.
void Optimizer::step(double learning_rate) {
  const at::NoGradGuard no_grad;
  for (Trained& trained : all_) {
    const at::Tensor& gradient = trained.parameter.grad();
    if (gradient.defined()) update(trained, gradient, learning_rate * trained.lr_scale);
  }
}

void Optimizer::update(Trained& trained, const at::Tensor& gradient, double learning_rate) const {
  trained.mean_square.mul_(options_.alpha).addcmul_(gradient, gradient, 1 - options_.alpha);
  const at::Tensor root = trained.mean_square.sqrt().add_(options_.eps);
  trained.parameter.addcdiv_(gradient, root, -learning_rate);
}

// A state is named after its parameter. Checkpoints shard it as the parameter, so that a run can be
// continued with other ranks.
s2s::TensorMap Optimizer::state() const {
  s2s::TensorMap state;
  for (const Trained& trained : all_) state[trained.name + ".square_avg"] = trained.mean_square;
  return state;
}

void Optimizer::restore(const s2s::TensorMap& state) { s2s::restore_state(this->state(), state); }

std::unique_ptr<s2s::Optimizer> create(const s2s::Config& options,
                                       const s2s::BuildContext& context) {
  return std::make_unique<Optimizer>(s2s::read_options<Options>(options, context.path));
}

}  // namespace PLUGIN_NAME
