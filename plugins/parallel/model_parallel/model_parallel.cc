// Combines data and tensor parallelism: the data ranks shard the model as in ZeRO, and groups of
// ranks split each layer (NeMo's ModelParallelStrategy, with its keys).

#include "s2s/parallel/parallel_engine.h"
#include "s2s/plugin.h"

namespace s2s::model_parallel {

struct ModelParallelOptions {
  ShardingOptions sharding;
  std::string tensor_parallel_size = "auto";
  bool sequence_parallel = true;
  bool replicate_kv_heads = true;
  void visit(OptionVisitor& v) {
    sharding.visit(v);
    v("tensor_parallel_size", tensor_parallel_size,
      "number of ranks that split each layer; auto: the ranks left by data_parallel_size, or 1");
    v("sequence_parallel", sequence_parallel,
      "split activations along positions between blocks (sequence parallelism)");
    v("replicate_kv_heads", replicate_kv_heads,
      "replicate key/value heads if there are fewer heads than ranks");
  }
};

/// The size of the tensor axis. If both sizes are auto, the data axis uses all ranks. (Lightning's
/// strategy assigns a machine's ranks to the tensor axis.)
int64_t tensor_size(const ModelParallelOptions& options, int64_t num_ranks,
                    const std::string& path) {
  const auto asked = parse_axis_size(options.tensor_parallel_size, path + ".tensor_parallel_size");
  const auto data =
      parse_axis_size(options.sharding.data_parallel_size, path + ".data_parallel_size");
  if (asked) return *asked;
  return data ? std::max<int64_t>(1, num_ranks / *data) : 1;
}

std::unique_ptr<ParallelStrategy> create(const Config& node, const ProcessContext& context) {
  const auto options = read_options<ModelParallelOptions>(node, context.path);
  const int64_t num_ranks = context.world == nullptr ? 1 : context.world->size();
  const int64_t tensor = tensor_size(options, num_ranks, context.path);
  EngineSettings settings = options.sharding.settings(num_ranks, tensor, context.path);
  settings.mesh.sequence_parallel = options.sequence_parallel;
  settings.mesh.replicate_kv_heads = options.replicate_kv_heads;
  return make_parallel_engine(settings, context);
}

Component<ParallelStrategy> component() {
  return {
      .name = "model_parallel",
      .summary = "layers split over groups of ranks, and parameters sharded over the data ranks",
      .create = create,
      .options = list_options<ModelParallelOptions>};
}

}  // namespace s2s::model_parallel

S2S_PLUGIN("model_parallel", "0.1.0", "Apache-2.0", "strategy:model_parallel") {
  registrar.add(s2s::model_parallel::component());
}
