// One process, one device: the plain reference that every layout has to agree with.

#include "s2s/kinds/strategy.h"
#include "s2s/parallel/gradients.h"
#include "s2s/parallel/plan.h"
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
    std::vector<at::Tensor> gradients = gradients_of(model);
    const double norm = gradient_norm(gradients);
    clip_gradients(gradients, norm, max_norm);
    return norm;
  }

  std::vector<double> sum_over_data(std::vector<double> values) override { return values; }
};

std::unique_ptr<ParallelStrategy> create(const Config& options, const ProcessContext& context) {
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
