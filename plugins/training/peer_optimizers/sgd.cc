// Source: torch.optim.SGD (torch/optim/sgd.py), without `maximize`.

#include <ATen/ATen.h>

#include "each_parameter.h"

namespace s2s::peer_optimizers {
namespace {

struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;
  CommonOptions common;
  void visit(OptionVisitor& v) {
    v("lr", lr, "base learning rate", at_least(0));
    v("momentum", momentum, "momentum factor; 0: none, and no state", at_least(0));
    v("dampening", dampening, "the gradient enters the momentum times 1 - dampening");
    v("nesterov", nesterov, "Nesterov's momentum; needs momentum, and no dampening");
    common.visit(v, "weight decay, added to the gradient (L2)");
  }
};

class Sgd final : public EachParameter {
 public:
  explicit Sgd(const SgdOptions& options) : EachParameter(options.common), options_(options) {}
  double base_learning_rate() const override { return options_.lr; }

 protected:
  void begin(Trained& trained) override {
    if (options_.momentum == 0) return;
    trained.states[kMomentum] = zeros_of(trained);
    // The first gradient enters without dampening: the state says whether it is the first.
    if (options_.dampening != 0) trained.states[kStep] = count_of(trained);
  }

  void update(Trained& trained, const at::Tensor& gradient, double learning_rate) override {
    at::Tensor& parameter = trained.tensor;
    at::Tensor change = gradient;
    if (trained.weight_decay != 0) change = change.add(parameter, trained.weight_decay);
    if (options_.momentum != 0) {
      at::Tensor& buffer = trained.state(kMomentum);
      buffer.mul_(options_.momentum);
      if (options_.dampening == 0) {
        buffer.add_(change);
      } else {
        at::Tensor& step = trained.state(kStep);
        buffer.add_(change * (1 - (step > 0).to(at::kFloat) * options_.dampening));
        step.add_(1);
      }
      change = options_.nesterov ? change.add(buffer, options_.momentum) : buffer;
    }
    parameter.add_(change, -learning_rate);
  }

 private:
  SgdOptions options_;
};

std::unique_ptr<Optimizer> create_sgd(const Config& options, const BuildContext& context) {
  const auto read = read_options<SgdOptions>(options, context.path);
  if (read.nesterov && (read.momentum <= 0 || read.dampening != 0)) {
    throw conflict_error("nesterov: true needs a momentum and no dampening",
                         "momentum above 0 and dampening: 0, or nesterov: false", options, context);
  }
  return std::make_unique<Sgd>(read);
}

}  // namespace

Component<Optimizer> sgd_component() {
  return {.name = "sgd",
          .summary = "stochastic gradient descent, as torch.optim.SGD",
          .create = create_sgd,
          .options = list_options<SgdOptions>};
}

}  // namespace s2s::peer_optimizers
