// Options of the strategies that use the engine, and their creation.

#include <fmt/format.h>

#include <algorithm>

#include "base/number_text.h"
#include "engine/engine.h"
#include "s2s/error.h"

namespace s2s {
namespace {

std::optional<at::ScalarType> type_of(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  if (name == "float16") return at::kHalf;
  return {};
}

Bounds dtypes() { return one_of({"same", "float32", "bfloat16", "float16"}); }

}  // namespace

void EngineOptions::visit(OptionVisitor& v) {
  v("activation_checkpointing", activation_checkpointing,
    "what is recomputed in the backward pass: nothing, the blocks of the plan's units, or norms "
    "and MLPs",
    one_of({"none", "full", "norm_and_mlp"}));
  v("activation_checkpointing_every", activation_checkpointing_every,
    "with full: recompute every n-th block, starting with the first", at_least(1));
  v("offload", offload, "what to keep in host memory", one_of({"none", "optimizer", "params"}));
  v("param_dtype", param_dtype, "dtype of unsharded parameters and of computation", dtypes());
  v("reduce_dtype", reduce_dtype, "dtype of gradient reduction", dtypes());
  v("output_dtype", output_dtype, "dtype of the outputs of units", dtypes());
  v("replicate_frozen", replicate_frozen, "keep frozen parameters unsharded on every rank");
  v("bucket_cap_mb", bucket_cap_mb,
    "bucket size in MiB for gradient reduction of parameters that are not sharded; 0: one bucket "
    "per gradient",
    at_least(0));
}

void EngineOptions::apply(EngineSettings& settings) const {
  using What = RecomputeSettings::What;
  settings.recompute.what = activation_checkpointing == "full"           ? What::kBlocks
                            : activation_checkpointing == "norm_and_mlp" ? What::kNormsAndMlps
                                                                         : What::kNone;
  settings.recompute.every = activation_checkpointing_every;
  settings.offload = offload == "params"      ? Offload::kParameters
                     : offload == "optimizer" ? Offload::kOptimizer
                                              : Offload::kNothing;
  settings.param_dtype = type_of(param_dtype);
  settings.reduce_dtype = type_of(reduce_dtype);
  settings.output_dtype = type_of(output_dtype);
  settings.replicate_frozen = replicate_frozen;
  settings.bucket_bytes = static_cast<int64_t>(bucket_cap_mb * 1024 * 1024);
}

void ShardingOptions::visit(OptionVisitor& v) {
  v("data_parallel_size", data_parallel_size,
    "number of ranks that read different data; auto: determined by the number of started ranks");
  v("replicate_size", replicate_size,
    "number of replicas of the whole model among these ranks; the rest is the shard axis",
    at_least(1));
  v("zero_stage", zero_stage,
    "what the shard axis shards: 1: optimizer state, 2: also gradients, 3: also parameters",
    between(1, 3));
  v("reshard_after_forward", reshard_after_forward,
    "zero_stage 3: reshard units after their forward: always, never, or the size of the reshard "
    "group");
  v("gradient_sync", gradient_sync,
    "when gradients are reduced: after all micro-batches of a step, after the last one (unsharded "
    "until then), or auto: the last in stage 1, otherwise all",
    one_of({"auto", "all", "last"}));
  engine.visit(v);
}

namespace {

void read_reshard(const std::string& text, const std::string& path, EngineSettings& settings) {
  settings.reshard_after_forward = text != "never";
  if (text == "always" || text == "never" || text == "true" || text == "false") {
    settings.reshard_after_forward = text == "always" || text == "true";
    return;
  }
  const auto size = read_number<int64_t>(text);
  if (!size || *size < 1 || settings.mesh.shard % *size != 0) {
    throw Error(ExitCode::kConfig, "config/type",
                fmt::format("{}.reshard_after_forward: '{}'; expected always, never or a number "
                            "that divides the {} rank{} of the shard axis",
                            path, text, settings.mesh.shard, settings.mesh.shard == 1 ? "" : "s"));
  }
  settings.reshard_group_size = *size;
}

}  // namespace

EngineSettings ShardingOptions::settings(int64_t num_ranks, int64_t tensor_size,
                                         const std::string& path) const {
  EngineSettings settings;
  const auto asked = parse_axis_size(data_parallel_size, path + ".data_parallel_size");
  const int64_t data = asked.value_or(std::max<int64_t>(1, num_ranks / tensor_size));
  if (data % replicate_size != 0) {
    throw Error(ExitCode::kConfig, "config/bounds",
                fmt::format("{}.replicate_size: {}; expected a divisor of the {} data rank{}", path,
                            replicate_size, data, data == 1 ? "" : "s"));
  }
  settings.mesh.replicate = replicate_size;
  settings.mesh.shard = data / replicate_size;
  settings.mesh.tensor = tensor_size;
  settings.zero_stage = static_cast<int>(zero_stage);
  read_reshard(reshard_after_forward, path, settings);
  if (gradient_sync != "auto") settings.reduce_every_micro_batch = gradient_sync == "all";
  engine.apply(settings);
  return settings;
}

std::optional<int64_t> parse_axis_size(const std::string& text, const std::string& path) {
  if (text == "auto") return std::nullopt;
  const auto size = read_number<int64_t>(text);
  if (size && *size >= 1) return size;
  throw Error(ExitCode::kConfig, "config/type",
              fmt::format("{}: '{}'; expected auto or a number of ranks", path, text));
}

std::unique_ptr<ParallelStrategy> make_parallel_engine(const EngineSettings& settings,
                                                       const ProcessContext& context) {
  require_world_size(settings.mesh, context.world == nullptr ? 1 : context.world->size());
  return std::make_unique<Engine>(settings, context.world);
}

}  // namespace s2s
