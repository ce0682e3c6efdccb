// One process, one device: the plain reference that every layout has to agree with.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "s2s/plugin.h"

namespace s2s::single {

struct SingleOptions {
  void visit(OptionVisitor&) {}
};

class Single : public ParallelStrategy {
 public:
  MeshShape mesh() const override { return {}; }
  int64_t data_rank() const override { return 0; }
  void attach(Block&, const ShardPlan&) override {}
  void finish_backward(Block&) override {}

  double clip_grad_norm(Block& model, double max_norm) override {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> gradients;
    for (const NamedTensor& parameter : model.named_parameters()) {
      if (parameter.tensor->grad().defined()) gradients.push_back(parameter.tensor->grad());
    }
    if (gradients.empty()) return 0;
    // The norm of norms, as torch.nn.utils.clip_grad_norm_, in float32.
    std::vector<at::Tensor> norms = at::_foreach_norm(gradients, 2, at::kFloat);
    const double norm = at::stack(norms).norm().item<double>();
    const double scale = max_norm / (norm + 1e-6);
    if (max_norm > 0 && scale < 1) at::_foreach_mul_(gradients, scale);
    return norm;
  }

  double sum_over_data(double value) override { return value; }
};

std::unique_ptr<ParallelStrategy> create(const Config& options, const BuildContext& context) {
  read_options<SingleOptions>(options, context.path);
  return std::make_unique<Single>();
}

}  // namespace s2s::single

S2S_PLUGIN("single", "0.1.0", "Apache-2.0", "strategy:single") {
  s2s::Component<s2s::ParallelStrategy> component;
  component.name = "single";
  component.summary = "one process on one device";
  component.create = s2s::single::create;
  component.options = s2s::list_options<s2s::single::SingleOptions>;
  registrar.add(std::move(component));
}
