// The keys of FSDP's settings as accelerate, transformers and other generators write them, and of
// accelerate's own file. Source: accelerate/utils/launch.py, utils/dataclasses.py
// (FullyShardedDataParallelPlugin), commands/config/config_args.py (ClusterConfig).

#include "accelerate/fsdp_keys.h"

#include <fmt/format.h>

#include <array>

#include "base/number_text.h"
#include "base/text.h"
#include "comm/launch_environment.h"
#include "config/config_errors.h"
#include "keys/foreign_file.h"
#include "keys/key_reasons.h"

namespace s2s::interop {
namespace {

using enum KeyUse;

constexpr const char* kStrategy = "trainer.strategy.";

/// The number of machines, over which HYBRID_SHARD replicates the model; 0 if unknown.
int64_t num_machines(const Config& config) {
  const Config* const nodes = config.find_path("trainer.num_nodes");
  if (nodes != nullptr && nodes->is_scalar()) {
    return read_number<int64_t>(nodes->text()).value_or(0);
  }
  try {
    const LaunchEnvironment launch = read_launch_environment();
    return launch.launcher == Launcher::kNone ? 0 : launch.size / launch.local_size;
  } catch (const Error&) {
    return 0;
  }
}

void read_sharding(ForeignFile& file, const Config& value) {
  static const std::vector<std::string> kNames = {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD",
                                                  "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"};
  const auto number = value.is_scalar() ? read_number<size_t>(value.text()) : std::nullopt;
  const bool is_number = number && *number >= 1 && *number <= kNames.size();
  const std::string name = is_number ? kNames[*number - 1] : value.text();
  const char* const key = "fsdp_sharding_strategy";
  if (!contains(kNames, name)) {
    return file.findings.add(choice_error(file.path_of(key), value, kNames));
  }
  if (name == "NO_SHARD") return;  // the strategy's name
  if (name == "SHARD_GRAD_OP" || name == "HYBRID_SHARD_ZERO2") {
    file.set(std::string(kStrategy) + "reshard_after_forward", "never", value);
  }
  if (!name.starts_with("HYBRID")) return;
  const int64_t machines = num_machines(file.config);
  const std::string path = std::string(kStrategy) + "replicate_size";
  const bool is_written = file.config.find_path(path) != nullptr;
  if (machines > 0) return file.set_default(path, std::to_string(machines), value);
  if (is_written) return;
  file.refuse(
      key, value,
      "the model is replicated over machines; write trainer.num_nodes, or replicate_size: R "
      "in trainer.strategy");
}

void read_fsdp_reshard(ForeignFile& file, const Config& value) {
  const std::string text = lower(value.text());
  if (text == "true" || text == "false") {
    return file.set(std::string(kStrategy) + "reshard_after_forward",
                    text == "true" ? "always" : "never", value);
  }
  read_sharding(file, value);  // version 1 has the strategy's name here
}

void read_fsdp_offload(ForeignFile& file, const Config& value) {
  if (is_switched_on(value)) file.set(std::string(kStrategy) + "offload", "params", value);
}

void read_fsdp_recompute(ForeignFile& file, const Config& value) {
  if (!is_switched_on(value)) return;
  file.set_default(std::string(kStrategy) + "activation_checkpointing", "full", value);
}

void read_fsdp_precision(ForeignFile& file, const Config& value) {
  const std::string type = lower(value.text());
  if (type == "bfloat16" || type == "bf16") {
    file.set_precision("bf16-mixed", value);
    const Config* const precision = file.config.find_path("trainer.precision");
    if (precision->text() == "bf16-true") return;
    return file.set_default(std::string(kStrategy) + "param_dtype", "bfloat16", value);
  }
  if (type == "float16" || type == "fp16") return file.set_precision("16-mixed", value);
  if (type == "no" || type == "none" || type == "float32") {
    return file.set_precision("32-true", value);
  }
  file.findings.add(
      choice_error(file.path_of("fsdp_mixed_precision"), value, {"BFLOAT16", "FLOAT16", "NO"}));
}

/// The keys also exist without `fsdp_`, as in transformers' TrainingArguments.
constexpr auto kFsdp = std::to_array<ForeignKey>({
    {"fsdp_sharding_strategy", kRead,
     "FULL_SHARD (1): `name: fsdp`; SHARD_GRAD_OP (2): also `reshard_after_forward: never`; "
     "NO_SHARD "
     "(3): `name: ddp`; HYBRID_SHARD (4): `replicate_size`: machines; HYBRID_SHARD_ZERO2 (5): both",
     read_sharding},
    {"fsdp_reshard_after_forward", kRead,
     "`trainer.strategy.reshard_after_forward`: true `always`, false `never`", read_fsdp_reshard},
    {"fsdp_offload_params", kRead, "true: `trainer.strategy.offload: params`", read_fsdp_offload},
    {"fsdp_mixed_precision", kRead,
     "BFLOAT16: `trainer.precision: bf16-mixed`, `trainer.strategy.param_dtype: bfloat16`; "
     "FLOAT16: `16-mixed`; NO: `32-true`",
     read_fsdp_precision},
    {"fsdp_activation_checkpointing", kRead,
     "true: `trainer.strategy.activation_checkpointing: full`", read_fsdp_recompute},
    {"fsdp_activation_checkpointing_offload", kOnlyOff, why::kNot},
    {"fsdp_version", kNoEffect, "both versions give this engine: each parameter is sharded"},
    {"fsdp_auto_wrap_policy", kNoEffect, why::kUnits},
    {"fsdp_transformer_layer_cls_to_wrap", kNoEffect, why::kUnits},
    {"fsdp_min_num_params", kNoEffect, why::kUnits},
    {"fsdp_state_dict_type", kNoEffect, why::kParts},
    {"fsdp_backward_prefetch_policy", kNoEffect, why::kAhead},
    {"fsdp_backward_prefetch", kNoEffect, why::kAhead},
    {"fsdp_forward_prefetch", kNoEffect, why::kAhead},
    {"fsdp_limit_all_gathers", kNoEffect, "at most two units are unsharded at once"},
    {"fsdp_sync_module_states", kNoEffect, "all ranks make the same initial values"},
    {"fsdp_cpu_ram_efficient_loading", kNoEffect, why::kShards},
    {"fsdp_use_orig_params", kNoEffect, why::kAlways},
    {"fsdp_cuda_graphs", kNoEffect, "a training step is not captured as a CUDA graph"},
    {"fsdp_ignored_modules", kOnlyOff, "write replicate_frozen: true in trainer.strategy"},
    {"xla", kOnlyOff, why::kXla},
    {"xla_fsdp_settings", kOnlyOff, why::kXla},
    {"xla_fsdp_grad_ckpt", kOnlyOff, why::kXla},
    {"xla_fsdp_v2", kOnlyOff, why::kXla},
});

void read_distributed_type(ForeignFile& file, const Config& value) {
  const std::vector<std::string> known = {"NO", "MULTI_CPU", "MULTI_GPU", "FSDP", "DEEPSPEED"};
  if (contains(known, value.text())) return;  // the strategy's name
  file.findings.add(choice_error(file.path_of("distributed_type"), value, known));
}

void read_environment(ForeignFile& file, const Config& value) {
  if (value.text() == "LOCAL_MACHINE") return;
  file.refuse("compute_environment", value,
              "write LOCAL_MACHINE; s2s-run launch starts runs on clusters");
}

void read_accelerate_precision(ForeignFile& file, const Config& value) {
  const std::string type = lower(value.text());
  // YAML 1.1 writers turn `no` into false.
  const bool is_no = type == "no" || type == "false" || type == "fp32";
  const char* const ours = is_no            ? "32-true"
                           : type == "bf16" ? "bf16-mixed"
                           : type == "fp16" ? "16-mixed"
                                            : nullptr;
  if (ours != nullptr) return file.set_precision(ours, value);
  file.findings.add(choice_error(file.path_of("mixed_precision"), value, {"no", "fp16", "bf16"}));
}

/// mixed_precision of files of accelerate before 0.7, as accelerate converts it.
void read_old_fp16(ForeignFile& file, const Config& value) {
  if (file.find("mixed_precision") != nullptr) {
    return file.no_effect("fp16", value, "mixed_precision is written");
  }
  file.set_precision(is_switched_on(value) ? "16-mixed" : "32-true", value);
}

/// dynamo_config of older files, as accelerate converts it.
void read_old_dynamo(ForeignFile& file, const Config& value) {
  if (is_switched_on(value)) {
    file.refuse("dynamo_backend", value, "modules are not compiled; write 'NO'");
  }
}

/// Sizes of 1 split nothing.
void read_parallelism(ForeignFile& file, const Config& value) {
  for (const auto& [key, size] : value.entries()) {
    if (!key.ends_with("_size") || whole_number(size).value_or(2) <= 1) continue;
    return file.refuse("parallelism_config." + key, size,
                       "write replicate_size and tensor_parallel_size in trainer.strategy");
  }
}

/// -1 and what is no number: 0.
int64_t count_of(const Config* node) {
  if (node == nullptr || !node->is_scalar()) return 0;
  return std::max<int64_t>(0, whole_number(*node).value_or(0));
}

void read_processes(ForeignFile& file, const Config& value) {
  if (value.is_scalar() && value.text() == "-1") return;
  const int64_t all = count_of(&value);
  const int64_t nodes = std::max<int64_t>(1, count_of(file.find("num_machines")));
  if (all == 0 || all % nodes != 0) {
    return file.refuse("num_processes", value,
                       fmt::format("expected a multiple of the {} machines", nodes));
  }
  file.set("trainer.devices", std::to_string(all / nodes), value);
}

void read_cpu(ForeignFile& file, const Config& value) {
  if (is_switched_on(value)) file.set("trainer.accelerator", "cpu", value);
}

void read_zero_stage(ForeignFile& file, const Config& value) {
  file.set_zero_stage("deepspeed_config.zero_stage", value);
}

void read_device(ForeignFile& file, const Config& value, const char* key, const char* offload) {
  if (value.text() == "nvme") {
    return file.refuse(key, value, "only host memory is used; write cpu");
  }
  if (value.text() == "cpu") file.set(std::string(kStrategy) + "offload", offload, value);
}

void read_optimizer_device(ForeignFile& file, const Config& value) {
  const Config* const params = file.find("deepspeed_config.offload_param_device");
  if (params != nullptr && params->text() == "cpu") return;  // includes the optimizer's state
  read_device(file, value, "deepspeed_config.offload_optimizer_device", "optimizer");
}

void read_param_device(ForeignFile& file, const Config& value) {
  read_device(file, value, "deepspeed_config.offload_param_device", "params");
}

/// The block fsdp_config is read with the table of FSDP.
void read_elsewhere(ForeignFile&, const Config&) {}

void read_dynamo(ForeignFile& file, const Config& value) {
  const Config* const backend = value.is_map() ? value.find("dynamo_backend") : nullptr;
  const bool is_off = value.is_map() && value.entries().empty();
  if (is_off || (backend != nullptr && !is_switched_on(*backend))) return;
  file.refuse("dynamo_config", value, "modules are not compiled; remove it");
}

constexpr auto kAccelerate = std::to_array<ForeignKey>({
    {"distributed_type", kRead,
     "NO, MULTI_CPU, MULTI_GPU: `name: ddp`; FSDP: `name: fsdp`; DEEPSPEED: by its stage",
     read_distributed_type},
    {"compute_environment", kRead, "LOCAL_MACHINE; others are refused", read_environment},
    {"mixed_precision", kRead, "`trainer.precision`: no, fp16, bf16", read_accelerate_precision},
    {"num_processes", kRead, "`trainer.devices` * `trainer.num_nodes`", read_processes},
    {"num_machines", kRead, "trainer.num_nodes"},
    {"use_cpu", kRead, "true: `trainer.accelerator: cpu`", read_cpu},
    {"gradient_accumulation_steps", kRead, "trainer.accumulate_grad_batches"},
    {"fsdp_config", kRead, "the keys of FSDP", read_elsewhere},
    {"deepspeed_config.deepspeed_config_file", kRead, "a file with the keys of DeepSpeed",
     read_elsewhere},
    {"deepspeed_config.zero_stage", kRead, "as `zero_optimization.stage`", read_zero_stage},
    {"deepspeed_config.gradient_accumulation_steps", kRead, "trainer.accumulate_grad_batches"},
    {"deepspeed_config.gradient_clipping", kRead, "trainer.gradient_clip_val"},
    {"deepspeed_config.offload_optimizer_device", kRead,
     "cpu: `trainer.strategy.offload: optimizer`", read_optimizer_device},
    {"deepspeed_config.offload_param_device", kRead, "cpu: `trainer.strategy.offload: params`",
     read_param_device},
    {"deepspeed_config.offload_optimizer_nvme_path", kNoEffect, why::kNvme},
    {"deepspeed_config.offload_param_nvme_path", kNoEffect, why::kNvme},
    {"deepspeed_config.zero3_init_flag", kNoEffect, why::kShards},
    {"deepspeed_config.zero3_save_16bit_model", kNoEffect, why::kParts},
    {"deepspeed_config.deepspeed_multinode_launcher", kNoEffect, why::kLauncher},
    {"deepspeed_config.deepspeed_hostfile", kNoEffect, why::kLauncher},
    {"deepspeed_config.deepspeed_inclusion_filter", kNoEffect, why::kLauncher},
    {"deepspeed_config.deepspeed_exclusion_filter", kNoEffect, why::kLauncher},
    {"deepspeed_config.deepspeed_moe_layer_cls_names", kOnlyOff, why::kNot},
    {"machine_rank", kNoEffect, why::kLauncher},
    {"main_process_ip", kNoEffect, why::kLauncher},
    {"main_process_port", kNoEffect, why::kLauncher},
    {"rdzv_backend", kNoEffect, why::kLauncher},
    {"same_network", kNoEffect, why::kLauncher},
    {"gpu_ids", kNoEffect, "CUDA_VISIBLE_DEVICES chooses GPUs"},
    {"enable_cpu_affinity", kNoEffect, why::kLauncher},
    {"main_training_function", kNoEffect, "there is no Python function"},
    {"debug", kNoEffect, "ranks always compare their collectives"},
    {"downcast_bf16", kNoEffect, "this concerns TPUs"},
    {"tpu_name", kNoEffect, "this concerns TPUs"},
    {"tpu_zone", kNoEffect, "this concerns TPUs"},
    {"tpu_env", kNoEffect, "this concerns TPUs"},
    {"tpu_vm", kNoEffect, "this concerns TPUs"},
    {"tpu_use_cluster", kNoEffect, "this concerns TPUs"},
    {"tpu_use_sudo", kNoEffect, "this concerns TPUs"},
    {"command_file", kNoEffect, "this concerns TPUs"},
    {"commands", kNoEffect, "this concerns TPUs"},
    {"mpirun_config", kNoEffect, "mpirun s2s-run train works as it is"},
    {"dynamo_config", kRead, "accepted with `dynamo_backend: NO`", read_dynamo},
    {"fp8_config", kOnlyOff, why::kNot},
    {"megatron_lm_config", kOnlyOff,
     "write trainer.strategy: {name: model_parallel, tensor_parallel_size: N}"},
    {"parallelism_config", kRead,
     "accepted with sizes of 1; write replicate_size and tensor_parallel_size in trainer.strategy",
     read_parallelism},
    {"fp16", kRead, "an old name of `mixed_precision: fp16`", read_old_fp16},
    {"dynamo_backend", kRead, "an old place of `dynamo_config.dynamo_backend`", read_old_dynamo},
    {"ipex_config", kNoEffect, "kernels are chosen by the device"},
    {"use_mps_device", kOnlyOff, "there is no MPS device; remove it"},
    {"num_cpu_threads_per_process", kNoEffect, "trainer.num_threads decides"},
});

}  // namespace

ForeignKeys fsdp_keys() { return kFsdp; }
ForeignKeys accelerate_keys() { return kAccelerate; }

}  // namespace s2s::interop
