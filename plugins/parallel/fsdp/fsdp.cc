// Optimizer state, gradients and parameters split over the data ranks (ZeRO stages 1 to 3; with
// replicas of the split model: hybrid sharding).

#include "s2s/parallel/parallel_engine.h"
#include "s2s/plugin.h"

namespace s2s::fsdp {

std::unique_ptr<ParallelStrategy> create(const Config& node, const ProcessContext& context) {
  const auto options = read_options<ShardingOptions>(node, context.path);
  const int64_t num_ranks = context.world == nullptr ? 1 : context.world->size();
  return make_parallel_engine(options.settings(num_ranks, 1, context.path), context);
}

}  // namespace s2s::fsdp

S2S_PLUGIN("fsdp", "0.1.0", "Apache-2.0", "strategy:fsdp") {
  s2s::Component<s2s::ParallelStrategy> component;
  component.name = "fsdp";
  component.summary = "parameters, gradients and optimizer state split over the data ranks";
  component.create = s2s::fsdp::create;
  component.options = s2s::list_options<s2s::ShardingOptions>;
  registrar.add(std::move(component));
}
