#include "lightning/strategy_names.h"

#include <array>
#include <string_view>

#include "config/yaml_reader.h"

namespace s2s::interop {
namespace {

struct Strategy {
  std::string_view theirs;
  const char* ours;
};

/// Names that Lightning registers, class names (without their module), and common terms.
constexpr std::array kStrategies = {
    Strategy{"auto", "{name: ddp}"},  // with one process the same as `single`
    Strategy{"single_device", "{name: single}"},
    Strategy{"SingleDeviceStrategy", "{name: single}"},
    Strategy{"ddp_find_unused_parameters_true", "{name: ddp}"},
    Strategy{"ddp_find_unused_parameters_false", "{name: ddp}"},
    Strategy{"ddp_spawn", "{name: ddp}"},
    Strategy{"DDPStrategy", "{name: ddp}"},
    Strategy{"NLPDDPStrategy", "{name: ddp}"},
    Strategy{"DistributedDataParallel", "{name: ddp}"},
    Strategy{"fsdp2", "{name: fsdp}"},
    Strategy{"fsdp_cpu_offload", "{name: fsdp, offload: params}"},
    Strategy{"FSDPStrategy", "{name: fsdp}"},
    Strategy{"FSDP2Strategy", "{name: fsdp}"},
    Strategy{"ModelParallelStrategy", "{name: model_parallel}"},
    Strategy{"AutomodelParallelStrategy", "{name: model_parallel}"},
    Strategy{"MegatronStrategy", "{name: model_parallel}"},
    Strategy{"deepspeed", "{name: fsdp, zero_stage: 2}"},  // Lightning's default stage
    Strategy{"DeepSpeedStrategy", "{name: fsdp, zero_stage: 2}"},
    Strategy{"deepspeed_stage_1", "{name: fsdp, zero_stage: 1}"},
    Strategy{"deepspeed_stage_2", "{name: fsdp, zero_stage: 2}"},
    Strategy{"deepspeed_stage_3", "{name: fsdp, zero_stage: 3}"},
    Strategy{"deepspeed_stage_2_offload", "{name: fsdp, zero_stage: 2, offload: optimizer}"},
    Strategy{"deepspeed_stage_3_offload", "{name: fsdp, zero_stage: 3, offload: params}"},
    Strategy{"zero1", "{name: fsdp, zero_stage: 1}"},
    Strategy{"zero2", "{name: fsdp, zero_stage: 2}"},
    Strategy{"zero3", "{name: fsdp, zero_stage: 3}"},
};

/// Names that need an additional number.
constexpr std::array kIncomplete = {
    Strategy{"hsdp", "{name: fsdp, replicate_size: R}, with R replicas of the split model"},
    Strategy{"hybrid_shard", "{name: fsdp, replicate_size: R}, with R replicas of the split model"},
    Strategy{"tp", "{name: model_parallel, tensor_parallel_size: N}"},
    Strategy{"tensor_parallel", "{name: model_parallel, tensor_parallel_size: N}"},
    Strategy{"megatron", "{name: model_parallel, tensor_parallel_size: N}"},
    Strategy{"zero", "{name: fsdp, zero_stage: 1}, or 2 or 3"},
};

constexpr const char* kAhead = "the next unit is always prefetched";
constexpr const char* kAlways = "this is always done";
constexpr const char* kUnits = "the model's plan defines the units (s2s-run plan)";
constexpr const char* kOff = "this is the default";
constexpr const char* kAlwaysParts =
    "each rank always writes its shard, and any layout can read the shards";

/// Options of other strategies: our names, or why they have no effect.
constexpr std::array kOptions = {
    read_as("data_parallel", "data_parallel_size"),
    read_as("dp_size", "data_parallel_size"),
    read_as("dp", "data_parallel_size"),
    read_as("tensor_parallel", "tensor_parallel_size"),
    read_as("tensor_model_parallel_size", "tensor_parallel_size"),
    read_as("tp_size", "tensor_parallel_size"),
    read_as("tp", "tensor_parallel_size"),
    read_as("dp_replicate", "replicate_size"),
    read_as("dp_replicate_size", "replicate_size"),
    read_as("activation_checkpointing_llm", "activation_checkpointing: full", "true"),
    read_as("num_replicas", "replicate_size"),
    read_as("stage", "zero_stage"),
    read_as("sharding_strategy", "zero_stage: 3", "FULL_SHARD"),
    read_as("sharding_strategy", "reshard_after_forward: never", "SHARD_GRAD_OP"),
    read_as("cpu_offload", "offload: params", "true"),
    read_as("offload_parameters", "offload: params", "true"),
    read_as("offload_optimizer", "offload: optimizer", "true"),
    no_effect("find_unused_parameters", "parameters that a step does not use count as zero"),
    no_effect("static_graph", "parameters that a step does not use count as zero"),
    no_effect("gradient_as_bucket_view", "gradients are always stored in the buckets"),
    no_effect("broadcast_buffers", "buffers are averaged before validations and checkpoints"),
    no_effect("start_method", "the launcher starts the processes"),
    no_effect("limit_all_gathers", "at most two units are unsharded at once"),
    no_effect("forward_prefetch", kAhead),
    no_effect("backward_prefetch", kAhead),
    no_effect("use_orig_params", kAlways),
    no_effect("sync_module_states", "all ranks make the same initial values"),
    no_effect("auto_wrap_policy", kUnits),
    no_effect("transformer_layer_cls_to_wrap", kUnits),
    no_effect("state_dict_type", kAlwaysParts),
    no_effect("save_distributed_checkpoint", kAlwaysParts),
    no_effect("zero_optimization", kAlways, "true"),
    no_effect("overlap_comm", kAlways),
    no_effect("contiguous_gradients", kAlways),
    no_effect("reduce_scatter", kAlways),
    no_effect("allgather_partitions", kAlways),
    no_effect("pin_memory", kAlways),
    no_effect("zero_allow_untested_optimizer", "every optimizer is a plugin"),
    no_effect("zero_force_ds_cpu_optimizer", "every optimizer is a plugin"),
    no_effect("cpu_offload", kOff, "false"),
    no_effect("offload_parameters", kOff, "false"),
    no_effect("offload_optimizer", kOff, "false"),
    no_effect("pipeline_model_parallel_size", kOff, "1"),
    no_effect("context_parallel_size", kOff, "1"),
    no_effect("pp_size", kOff, "1"),
    no_effect("cp_size", kOff, "1"),
    no_effect("ep_size", "the language models here have no experts"),
    no_effect("moe_config", "the language models here have no experts"),
    no_effect("activation_checkpointing_llm", kOff, "false"),
    no_effect("activation_checkpointing_perception", kOff, "false"),
};

}  // namespace

ForeignKeys strategy_options() { return kOptions; }

OurOption our_strategy_option(const std::string& key, const Config& value) {
  for (const ForeignKey& row : kOptions) {
    if (row.use != KeyUse::kRead || row.key != key || !is_about(row, value)) continue;
    const std::string says = row.says;  // "offload: params"
    const size_t colon = std::min(says.find(": "), says.size());
    return {says.substr(0, colon), colon == says.size() ? "" : says.substr(colon + 2)};
  }
  return {};
}

std::string why_without_effect(const std::string& key, const Config& value) {
  for (const ForeignKey& row : kOptions) {
    if (row.use == KeyUse::kNoEffect && row.key == key && is_about(row, value)) return row.says;
  }
  return "";
}

Config our_strategy(const std::string& name) {
  const std::string last = name.substr(name.rfind('.') + 1);  // the whole name if there is no dot
  for (const Strategy& strategy : kStrategies) {
    if (strategy.theirs == last) return parse_yaml_value(strategy.ours, {});
  }
  return {};
}

std::string complete_strategy(const std::string& name) {
  for (const Strategy& strategy : kIncomplete) {
    if (strategy.theirs == name) return strategy.ours;
  }
  return "";
}

}  // namespace s2s::interop
