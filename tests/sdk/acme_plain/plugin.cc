// A strategy from nothing but the interface: every rank has the whole model, gradients are added up
// once, after the last backward.
#include "s2s/plugin.h"

#include <ATen/ATen.h>

#include "s2s/kinds/communicator.h"
#include "s2s/kinds/strategy.h"
#include "s2s/parallel/gradients.h"
#include "s2s/parallel/plan.h"
#include "s2s/registry.h"

namespace acme_plain {

struct Options {
  void visit(s2s::OptionVisitor&) {}
};

class Plain : public s2s::ParallelStrategy {
 public:
  explicit Plain(s2s::Communicator* world) : world_(world) {}
  s2s::MeshShape mesh() const override {
    s2s::MeshShape mesh;
    mesh.replicate = size();
    return mesh;
  }
  int64_t data_rank() const override { return world_ == nullptr ? 0 : world_->rank(); }
  void attach(s2s::Block&, const s2s::ShardPlan&) override {}
  void finish_backward(s2s::Block& model) override {
    if (size() == 1) return;
    for (const at::Tensor& gradient : s2s::gradients_of(model)) world_->all_reduce(gradient).wait();
  }
  at::Tensor grad_norm(s2s::Block& model) override {
    return s2s::gradient_norm(s2s::gradients_of(model));
  }
  at::Tensor reduce_over_data(const at::Tensor& values) override {
    if (size() == 1) return values;
    const at::Tensor sums = values.clone();
    world_->all_reduce(sums).wait();
    return sums;
  }
  std::vector<std::string> gather_texts(const std::string& text) override {
    if (size() == 1) return {text};
    return s2s::all_gather_texts(*world_, text);
  }

 private:
  int64_t size() const { return world_ == nullptr ? 1 : world_->size(); }
  s2s::Communicator* world_;
};

std::unique_ptr<s2s::ParallelStrategy> create(const s2s::Config& node,
                                              const s2s::ProcessContext& context) {
  s2s::read_options<Options>(node, context.path);
  return std::make_unique<Plain>(context.world);
}

s2s::Component<s2s::ParallelStrategy> component() {
  return {.name = "acme.plain",
          .summary = "the whole model on every rank, gradients added up once",
          .create = create,
          .options = s2s::list_options<Options>};
}

}  // namespace acme_plain

S2S_PLUGIN("acme_plain", "0.1.0", "Apache-2.0", "strategy:acme.plain") {
  registrar.add(acme_plain::component());
}
