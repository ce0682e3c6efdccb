// Data parallelism: each rank has the whole model and its part of the data.

#include "s2s/parallel/parallel_engine.h"
#include "s2s/plugin.h"

namespace s2s::ddp {

struct DdpOptions {
  std::string data_parallel_size = "auto";
  EngineOptions engine;
  void visit(OptionVisitor& v) {
    v("data_parallel_size", data_parallel_size, "number of ranks; auto: all started ranks");
    engine.visit(v);
  }
};

std::unique_ptr<ParallelStrategy> create(const Config& node, const ProcessContext& context) {
  const auto options = read_options<DdpOptions>(node, context.path);
  EngineSettings settings;
  const int64_t num_ranks = context.world == nullptr ? 1 : context.world->size();
  settings.mesh.replicate =
      parse_axis_size(options.data_parallel_size, context.path + ".data_parallel_size")
          .value_or(num_ranks);
  options.engine.apply(settings);
  return make_parallel_engine(settings, context);
}

Component<ParallelStrategy> component() {
  return {.name = "ddp",
          .summary = "a full copy of the model on every rank, each with its own part of the data",
          .create = create,
          .options = list_options<DdpOptions>};
}

}  // namespace s2s::ddp

S2S_PLUGIN("ddp", "0.2.0", "Apache-2.0", "strategy:ddp") { registrar.add(s2s::ddp::component()); }
