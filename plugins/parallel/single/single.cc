// One process on one device: the reference for all layouts.

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

  at::Tensor grad_norm(Block& model) override { return gradient_norm(gradients_of(model)); }
  at::Tensor reduce_over_data(const at::Tensor& values) override { return values; }
};

std::unique_ptr<ParallelStrategy> create(const Config& options, const ProcessContext& context) {
  read_options<SingleOptions>(options, context.path);
  return std::make_unique<Single>();
}

Component<ParallelStrategy> component() {
  return {.name = "single",
          .summary = "one process on one device",
          .create = create,
          .options = list_options<SingleOptions>};
}

}  // namespace s2s::single

S2S_PLUGIN("single", "0.1.0", "Apache-2.0", "strategy:single") {
  registrar.add(s2s::single::component());
}
