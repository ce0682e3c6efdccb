// The strategy COMPONENT_NAME: the ranks of a group shard the model, and the groups are replicas.
// It configures s2s's engine (s2s/parallel/parallel_engine.h), which communicates, recomputes,
// offloads and writes checkpoints. Your code only defines the layout of the ranks.

#include "s2s/plugin.h"

#include <algorithm>
#include <string>

#include "s2s/error.h"
#include "s2s/parallel/parallel_engine.h"

namespace PLUGIN_NAME {

struct Options {
  int64_t group_size = 2;
  int64_t tensor_parallel_size = 1;
  s2s::EngineOptions engine;  // activation_checkpointing, offload, dtypes, ...
  void visit(s2s::OptionVisitor& v) {
    v("group_size", group_size, "data ranks that shard the model; the groups are replicas",
      s2s::at_least(1));
    v("tensor_parallel_size", tensor_parallel_size,
      "ranks that split each layer, by the language model's plan", s2s::at_least(1));
    engine.visit(v);
  }
};

std::unique_ptr<s2s::ParallelStrategy> create(const s2s::Config& node,
                                              const s2s::ProcessContext& context) {
  const auto options = s2s::read_options<Options>(node, context.path);
  const int64_t num_ranks = context.world == nullptr ? 1 : context.world->size();
  s2s::EngineSettings settings;
  settings.mesh.tensor = options.tensor_parallel_size;
  settings.mesh.shard = options.group_size;
  // If the sizes do not divide the number of ranks, the engine reports both.
  settings.mesh.replicate =
      std::max<int64_t>(1, num_ranks / (options.tensor_parallel_size * options.group_size));
  options.engine.apply(settings);
  return s2s::make_parallel_engine(settings, context);
}

s2s::Component<s2s::ParallelStrategy> component() {
  return {.name = "COMPONENT_NAME",
          .summary = "groups of ranks shard the model; the groups are replicas",
          .create = create,
          .options = s2s::list_options<Options>};
}

}  // namespace PLUGIN_NAME

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "strategy:COMPONENT_NAME") {
  registrar.add(PLUGIN_NAME::component());
}
