// Source: lion-pytorch (lion_pytorch/lion_pytorch.py), arXiv 2302.06675.

#include <ATen/ATen.h>

#include "each_parameter.h"

namespace s2s::peer_optimizers {
namespace {

struct LionOptions {
  double lr = 1e-4;
  std::vector<double> betas = {0.9, 0.99};
  bool decoupled_weight_decay = false;
  CommonOptions common;
  void visit(OptionVisitor& v) {
    v("lr", lr, "base learning rate; usually 3 to 10 times smaller than AdamW's", at_least(0));
    v("betas", betas, "weights of the momentum: in the update, and in its own average",
      between(0, 1));
    v("decoupled_weight_decay", decoupled_weight_decay,
      "weight_decay is divided by lr, so that the decay follows the schedule only");
    common.visit(v, "weight decay, multiplied by the learning rate");
  }
};

class Lion final : public EachParameter {
 public:
  explicit Lion(const LionOptions& options) : EachParameter(options.common), options_(options) {}
  double base_learning_rate() const override { return options_.lr; }

 protected:
  void begin(Trained& trained) override { trained.states[kFirst] = zeros_of(trained); }

  void update(Trained& trained, const at::Tensor& gradient, double learning_rate) override {
    at::Tensor& average = trained.state(kFirst);
    const double decay =
        options_.decoupled_weight_decay ? trained.weight_decay / options_.lr : trained.weight_decay;
    if (decay != 0) trained.tensor.mul_(1 - learning_rate * decay);
    const double beta1 = options_.betas[0], beta2 = options_.betas[1];
    trained.tensor.add_((average * beta1).add_(gradient, 1 - beta1).sgn_(), -learning_rate);
    average.mul_(beta2).add_(gradient, 1 - beta2);
  }

 private:
  LionOptions options_;
};

std::unique_ptr<Optimizer> create_lion(const Config& options, const BuildContext& context) {
  const auto read = read_options<LionOptions>(options, context.path);
  require_count(read.betas, 2, "betas", "[0.9, 0.99]", options, context);
  if (read.decoupled_weight_decay && read.lr == 0) {
    throw conflict_error("decoupled_weight_decay divides by lr, which is 0", "lr above 0", options,
                         context);
  }
  return std::make_unique<Lion>(read);
}

}  // namespace

Component<Optimizer> lion_component() {
  return {.name = "lion",
          .summary = "the sign of a momentum, as lion-pytorch",
          .create = create_lion,
          .options = list_options<LionOptions>};
}

}  // namespace s2s::peer_optimizers
