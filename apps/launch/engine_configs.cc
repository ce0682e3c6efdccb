#include "launch/engine_configs.h"

#include "launch/shell_words.h"

namespace s2s::launch {

using nlohmann::ordered_json;

namespace {

bool has_block(const ordered_json& file, const char* block, const char* key) {
  const auto found = file.find(block);
  return found != file.end() && found->is_object() && found->contains(key);
}

}  // namespace

ordered_json deepspeed_file(const DeepSpeedFile& file) {
  ordered_json out = {{"train_batch_size", "auto"},
                      {"train_micro_batch_size_per_gpu", "auto"},
                      {"gradient_accumulation_steps", "auto"},
                      {"gradient_clipping", "auto"},
                      {"zero_allow_untested_optimizer", true}};
  if (file.accumulation > 0) out["gradient_accumulation_steps"] = file.accumulation;
  if (file.clipping >= 0) out["gradient_clipping"] = file.clipping;
  // DeepSpeed otherwise refuses offloading with an optimizer that is not its own.
  if (file.offloads_optimizer) out["zero_force_ds_cpu_optimizer"] = false;
  if (file.is_bf16) out["bf16"] = {{"enabled", true}};
  if (file.is_fp16) out["fp16"] = {{"enabled", true}, {"loss_scale", 0}};
  ordered_json& zero = out["zero_optimization"];
  zero = {{"stage", file.stage},
          {"contiguous_gradients", true},
          {"overlap_comm", true},
          {"reduce_scatter", true},
          {"reduce_bucket_size", 500000000},
          {"allgather_bucket_size", 500000000}};
  const ordered_json host = {{"device", "cpu"}, {"pin_memory", true}};
  if (file.offloads_optimizer) zero["offload_optimizer"] = host;
  if (file.offloads_params) zero["offload_param"] = host;
  return out;
}

DeepSpeedFile deepspeed_values(const ordered_json& file) {
  DeepSpeedFile values;
  const auto accumulation = file.find("gradient_accumulation_steps");
  if (accumulation != file.end() && accumulation->is_number_integer()) {
    values.accumulation = accumulation->get<int>();
  }
  const auto clipping = file.find("gradient_clipping");
  if (clipping != file.end() && clipping->is_number()) values.clipping = clipping->get<double>();
  values.is_bf16 = file.contains("bf16");
  values.is_fp16 = file.contains("fp16");
  const bool has_stage = has_block(file, "zero_optimization", "stage");
  const ordered_json stage = has_stage ? file.at("zero_optimization").at("stage") : ordered_json();
  values.stage = stage.is_number_integer() ? stage.get<int>() : -1;
  values.offloads_optimizer = has_block(file, "zero_optimization", "offload_optimizer");
  values.offloads_params = has_block(file, "zero_optimization", "offload_param");
  return values;
}

ordered_json fsdp_file(const FsdpFile& file) {
  ordered_json out = {{"fsdp_sharding_strategy", file.sharding},
                      {"fsdp_state_dict_type", "SHARDED_STATE_DICT"},
                      {"fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"},
                      {"fsdp_backward_prefetch_policy", "BACKWARD_PRE"},
                      {"fsdp_forward_prefetch", false},
                      {"fsdp_sync_module_states", true},
                      {"fsdp_cpu_ram_efficient_loading", true},
                      {"fsdp_use_orig_params", false},
                      {"fsdp_mixed_precision", file.precision}};
  if (file.offloads_params) out["fsdp_offload_params"] = true;
  if (file.recomputes) out["fsdp_activation_checkpointing"] = true;
  return out;
}

FsdpFile fsdp_values(const ordered_json& file) {
  FsdpFile values;
  const auto text = [&](const char* key) {
    const auto found = file.find(key);
    return found != file.end() && found->is_string() ? found->get<std::string>() : "";
  };
  values.sharding = text("fsdp_sharding_strategy");
  values.precision = text("fsdp_mixed_precision");
  values.offloads_params = file.contains("fsdp_offload_params");
  values.recomputes = file.contains("fsdp_activation_checkpointing");
  return values;
}

std::string launcher_script(const LauncherScript& script) {
  const bool is_one = script.num_nodes == 1;
  std::string out = "#!/bin/bash\n# Written by: " + in_comment(script.written_by) +
                    "\n#\n# usage: [NODE_RANK=N] run_training.sh [KEY=VALUE...]\n"
                    "# KEY=VALUE changes the configuration.";
  out += is_one ? "\n" : " To be started on each machine, with its own NODE_RANK.\n";
  out += "set -eu\nS2S_RUN=${S2S_RUN:-" + shell_word(script.program) + "}\n";
  const std::string ranks = std::to_string(script.num_ranks);
  if (is_one) {
    out += "exec \"$S2S_RUN\" launch local --num-ranks " + ranks + " -- \\\n";
  } else {
    out += "exec \"$S2S_RUN\" launch node --num-ranks " + ranks + " --num-nodes " +
           std::to_string(script.num_nodes) + " \\\n  --node-rank \"${NODE_RANK:-" +
           std::to_string(script.node) + "}\" --master-addr " + shell_word(script.master_addr) +
           " --master-port " + std::to_string(script.master_port) + " -- \\\n";
  }
  return out + "  " + shell_words(script.words) + " \"$@\"\n";
}

}  // namespace s2s::launch
