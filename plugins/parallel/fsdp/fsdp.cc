// Shards optimizer state, gradients and parameters over the data ranks (ZeRO stages 1 to 3). With
// replicas of the sharded model: hybrid sharding.

#include "s2s/parallel/parallel_engine.h"
#include "s2s/plugin.h"

namespace s2s::fsdp {

std::unique_ptr<ParallelStrategy> create(const Config& node, const ProcessContext& context) {
  const auto options = read_options<ShardingOptions>(node, context.path);
  const int64_t num_ranks = context.world == nullptr ? 1 : context.world->size();
  return make_parallel_engine(options.settings(num_ranks, 1, context.path), context);
}

Component<ParallelStrategy> component() {
  return {.name = "fsdp",
          .summary = "parameters, gradients and optimizer state sharded over the data ranks",
          .create = create,
          .options = list_options<ShardingOptions>};
}

}  // namespace s2s::fsdp

S2S_PLUGIN("fsdp", "0.1.0", "Apache-2.0", "strategy:fsdp") {
  registrar.add(s2s::fsdp::component());
}
