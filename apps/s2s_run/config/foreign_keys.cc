#include "s2s_run/config/foreign_keys.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "config/yaml_reader.h"

namespace s2s::run {
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

/// Names that need a number in addition.
constexpr std::array kIncomplete = {
    Strategy{"hsdp", "{name: fsdp, replicate_size: R}, with R replicas of the split model"},
    Strategy{"hybrid_shard", "{name: fsdp, replicate_size: R}, with R replicas of the split model"},
    Strategy{"tp", "{name: model_parallel, tensor_parallel_size: N}"},
    Strategy{"tensor_parallel", "{name: model_parallel, tensor_parallel_size: N}"},
    Strategy{"megatron", "{name: model_parallel, tensor_parallel_size: N}"},
    Strategy{"zero", "{name: fsdp, zero_stage: 1}, or 2 or 3"},
};

struct Option {
  std::string_view key, value;  // value empty: any
  const char* our_key;
  const char* our_value;  // empty: the value is kept
};

constexpr std::array kOptions = {
    Option{"data_parallel", "", "data_parallel_size", ""},
    Option{"dp_size", "", "data_parallel_size", ""},
    Option{"dp", "", "data_parallel_size", ""},
    Option{"tensor_parallel", "", "tensor_parallel_size", ""},
    Option{"tensor_model_parallel_size", "", "tensor_parallel_size", ""},
    Option{"tp_size", "", "tensor_parallel_size", ""},
    Option{"tp", "", "tensor_parallel_size", ""},
    Option{"dp_replicate", "", "replicate_size", ""},
    Option{"dp_replicate_size", "", "replicate_size", ""},
    Option{"activation_checkpointing_llm", "true", "activation_checkpointing", "full"},
    Option{"num_replicas", "", "replicate_size", ""},
    Option{"stage", "", "zero_stage", ""},
    Option{"sharding_strategy", "FULL_SHARD", "zero_stage", "3"},
    Option{"sharding_strategy", "SHARD_GRAD_OP", "reshard_after_forward", "never"},
    Option{"cpu_offload", "true", "offload", "params"},
    Option{"offload_parameters", "true", "offload", "params"},
    Option{"offload_optimizer", "true", "offload", "optimizer"},
};

struct Reason {
  std::string_view key, value;
  const char* why;
};

constexpr const char* kAhead = "the next unit is always prefetched";
constexpr const char* kAlways = "this is always done";
constexpr const char* kUnits = "the model's plan defines the units (s2s-run plan)";
constexpr const char* kOff = "this is the default";
constexpr const char* kAlwaysParts =
    "each rank always writes its shard, and any layout can read the shards";

constexpr std::array kWithoutEffect = {
    Reason{"find_unused_parameters", "", "parameters that a step does not use count as zero"},
    Reason{"static_graph", "", "parameters that a step does not use count as zero"},
    Reason{"gradient_as_bucket_view", "", "gradients are always stored in the buckets"},
    Reason{"broadcast_buffers", "", "buffers are averaged before validations and checkpoints"},
    Reason{"start_method", "", "the launcher starts the processes"},
    Reason{"limit_all_gathers", "", "at most two units are unsharded at once"},
    Reason{"forward_prefetch", "", kAhead},
    Reason{"backward_prefetch", "", kAhead},
    Reason{"use_orig_params", "", kAlways},
    Reason{"sync_module_states", "", "all ranks make the same initial values"},
    Reason{"auto_wrap_policy", "", kUnits},
    Reason{"transformer_layer_cls_to_wrap", "", kUnits},
    Reason{"state_dict_type", "", kAlwaysParts},
    Reason{"save_distributed_checkpoint", "", kAlwaysParts},
    Reason{"zero_optimization", "true", kAlways},
    Reason{"overlap_comm", "", kAlways},
    Reason{"contiguous_gradients", "", kAlways},
    Reason{"reduce_scatter", "", kAlways},
    Reason{"allgather_partitions", "", kAlways},
    Reason{"pin_memory", "", kAlways},
    Reason{"zero_allow_untested_optimizer", "", "every optimizer is a plugin"},
    Reason{"zero_force_ds_cpu_optimizer", "", "every optimizer is a plugin"},
    Reason{"cpu_offload", "false", kOff},
    Reason{"offload_parameters", "false", kOff},
    Reason{"offload_optimizer", "false", kOff},
    Reason{"pipeline_model_parallel_size", "1", kOff},
    Reason{"context_parallel_size", "1", kOff},
    Reason{"pp_size", "1", kOff},
    Reason{"cp_size", "1", kOff},
    Reason{"ep_size", "", "the language models here have no experts"},
    Reason{"moe_config", "", "the language models here have no experts"},
    Reason{"activation_checkpointing_llm", "false", kOff},
    Reason{"activation_checkpointing_perception", "false", kOff},
};

struct Advice {
  std::string_view path, key;
  const char* write;
};

constexpr const char* kTypes =
    "write trainer.precision; param_dtype, reduce_dtype and output_dtype refine it here";
constexpr const char* kValidations = "write trainer.val_check_interval: STEPS";
constexpr const char* kSteps =
    "the length of a run is given in steps, not epochs: write trainer.max_steps";
constexpr const char* kClip = "write trainer.gradient_clip_val";
constexpr const char* kAccumulate = "write trainer.accumulate_grad_batches";
constexpr const char* kPrecision = "write trainer.precision: bf16-mixed, bf16-true or 16-mixed";
constexpr const char* kRecompute = "write activation_checkpointing: full";
constexpr const char* kRecomputeAbove = "write trainer.strategy.activation_checkpointing: full";
constexpr const char* kZero = "write trainer.strategy: {name: fsdp, zero_stage: 1, 2 or 3}";
constexpr const char* kLayout = "write trainer.strategy, see s2s-run plugin list --kind strategy";
constexpr const char* kBucket = "write bucket_cap_mb, in MiB; units of the plan are never split";
constexpr const char* kLlm =
    "this is no Hugging Face folder on this machine, and nothing is downloaded; give a folder, or "
    "write llm: {name: llama, path: FOLDER} (s2s-run plugin list --kind llm)";
constexpr const char* kAsr =
    "this is no .nemo file on this machine, and nothing is downloaded; give a file, or write "
    "encoder: {name: fastconformer}, whose path takes its weights";
constexpr const char* kEncoder =
    "it is read with a .nemo file in model.pretrained_asr, or with preprocessor and encoder of its "
    "own; else write encoder: {name: fastconformer} and modality_adapter";
constexpr const char* kCodec =
    "write codec: {name: mel_fsq}; of NeMo's codecs, only that of EAR-TTS is read (s2s-run plugin "
    "list --kind codec)";
constexpr const char* kTokenizer = "write tokenizer: {name: hf, path: FOLDER}";
constexpr const char* kPartName =
    "write name (see s2s-run plugin list); Python classes are not loaded";
constexpr const char* kRunFolder =
    "checkpoints are in checkpoints/ of the run folder; write exp_manager.explicit_log_dir";
constexpr const char* kNoCodecs =
    "s2s starts no ffmpeg: write compression_enabled: true in the data set, with compression_prob "
    "and compression_codecs (opus, mp3, vorbis, gsm)";
constexpr const char* kNoSwap =
    "s2s does not make dialogues with swapped roles; remove the key, or write them to the data set";
constexpr const char* kOwnLlm = "the plugin of the language model knows its parts; remove the key";
constexpr const char* kTokenIds = "write tokens: {bos: ID, eos: ID, pad: ID}";
constexpr const char* kNoExperts = "the language models here have no experts; remove the key";
constexpr const char* kNoAxis = "this axis is not implemented; remove the key";

constexpr std::array kAdvice = {
    Advice{"trainer.strategy", "sharding_strategy",
           "write zero_stage: 3 for FULL_SHARD, also reshard_after_forward: never for "
           "SHARD_GRAD_OP, replicate_size: R (replicas of the split model) for HYBRID_SHARD, and "
           "name: ddp for NO_SHARD"},
    Advice{"trainer.strategy", "device_mesh", "write data_parallel_size and replicate_size"},
    Advice{"trainer.strategy", "mixed_precision", kTypes},
    Advice{"trainer.strategy", "mp_policy", kTypes},
    Advice{"trainer.strategy", "precision", kTypes},
    Advice{"trainer.strategy", "precision_plugin", kTypes},
    Advice{"trainer.strategy", "process_group_backend", "write trainer.communicator.name"},
    Advice{"trainer.strategy", "timeout", "write trainer.communicator.timeout_s, in seconds"},
    Advice{"trainer.strategy", "activation_checkpointing_policy", kRecompute},
    Advice{"trainer.strategy", "gradient_checkpointing", kRecompute},
    Advice{"trainer.strategy", "cpu_offload", "write offload: params, or optimizer"},
    Advice{"trainer.strategy", "offload_param", "write offload: params"},
    Advice{"trainer.strategy", "offload_parameters", "write offload: params"},
    Advice{"trainer.strategy", "offload_optimizer", "write offload: optimizer"},
    Advice{"trainer.strategy", "ddp_comm_hook", "write reduce_dtype: bfloat16 or float16"},
    Advice{"trainer.strategy", "reduce_bucket_size", kBucket},
    Advice{"trainer.strategy", "allgather_bucket_size", kBucket},
    Advice{"trainer.strategy", "pipeline_model_parallel_size", kNoAxis},
    Advice{"trainer.strategy", "context_parallel_size", kNoAxis},
    Advice{"trainer.strategy", "pp_size", kNoAxis},
    Advice{"trainer.strategy", "cp_size", kNoAxis},
    Advice{"trainer.strategy", "activation_checkpointing_perception", kRecompute},
    Advice{"trainer.strategy", "distributed_config",
           "write its keys here: sequence_parallel, offload: params"},
    Advice{"trainer.strategy", "config", "only name: deepspeed, fsdp and accelerate read a file"},
    Advice{"model", "pretrained_llm", kLlm},
    Advice{"model", "pretrained_asr", kAsr},
    Advice{"model", "perception", kEncoder},
    Advice{"model", "pretrained_audio_codec", kCodec},
    Advice{"model", "audio_codec", kCodec},
    Advice{"model", "tokenizer_path", kTokenizer},
    Advice{"model", "llm_attr_name", kOwnLlm},
    Advice{"model", "embed_tokens_attr_name", kOwnLlm},
    Advice{"model", "cache_key", kOwnLlm},
    Advice{"model", "bos_token", kTokenIds},
    Advice{"model", "eos_token", kTokenIds},
    Advice{"model", "pad_token", kTokenIds},
    Advice{
        "model", "inference_speaker_name",
        "voices have no names here; write inference_speaker_reference: FILE, and remove the key"},
    Advice{"model", "eval_text_turn_taking",
           "texts have no time stamps, and metrics do not read them; remove the key"},
    Advice{"model", "custom_sample_inference", "run s2s-run generate --input FILE"},
    Advice{"data", "use_codec_aug", kNoCodecs},
    Advice{"data", "codec_prob", kNoCodecs},
    Advice{"data", "codec_settings", kNoCodecs},
    Advice{"data", "aug_by_swap_role", kNoSwap},
    Advice{"model", "force_align_user_text",
           "write data.user_text: stamped, with time marks in the texts; s2s does not align"},
    Advice{"model", "advance_text_channel_by",
           "only duplex_s2s, duplex_s2s_speech_decoder and duplex_stt move text channels (NeMo's "
           "DuplexEARTTS reads this key and does not use it); remove the key"},
    Advice{"model", "force_align_device", "s2s does not align texts; remove the key"},
    Advice{"model", "prompt_format", "turns are taken from the data; remove the key"},
    Advice{"model", "peft", "write lora: {r: 8, lora_alpha: 16}"},
    Advice{"model", "pretrained_lm_name",
           "this is no folder on this machine, and nothing is downloaded; give the folder of the "
           "tokenizer, or write tokenizer: {name: hf, path: FOLDER}"},
    Advice{"model", "codec_config", "write codec: {name: rvq_vae, ...}"},
    Advice{"model", "aux_loss_coeff", kNoExperts},
    Advice{"model", "train_gate", kNoExperts},
    Advice{"model", "mtp", "this head is not implemented; remove the key"},
    Advice{"", "dflash", "this training of a draft model is not implemented; remove the key"},
    Advice{"model.lora", "dim", "write r"},
    Advice{"model.lora", "alpha", "write lora_alpha"},
    Advice{"model.lora", "dropout", "write lora_dropout"},
    Advice{"model.optimizer", "_target_", kPartName},
    Advice{"model.lr_scheduler", "_target_", kPartName},
    Advice{"exp_manager", "create_ipl_epoch_stopper_callback", kSteps},
    Advice{"exp_manager.checkpoint_callback_params", "dirpath", kRunFolder},
    Advice{"exp_manager.checkpoint_callback_params", "filepath", kRunFolder},
    Advice{"trainer", "default_root_dir", "write exp_manager.exp_dir"},
    Advice{"trainer", "min_steps", kSteps},
    Advice{"trainer", "max_epochs", kSteps},
    Advice{"trainer", "min_epochs", kSteps},
    Advice{"trainer", "max_time", "write exp_manager.max_time_per_run: DD:HH:MM:SS"},
    Advice{"trainer", "check_val_every_n_epoch", kValidations},
    Advice{"trainer", "callbacks",
           "the functions of Lightning callbacks are built in; remove the key"},
    Advice{"trainer", "profiler",
           "write trainer.profile: {begin_step: N, end_step: M}; log.txt always has the times of "
           "the phases"},
    Advice{"trainer", "overfit_batches", "write data.train_ds.limit: CUTS"},
    Advice{"trainer", "fast_dev_run", "write trainer.max_steps: 1"},
    Advice{"trainer", "gradient_accumulation_steps", kAccumulate},
    Advice{"trainer", "gradient_clipping", kClip},
    Advice{"trainer", "max_grad_norm", kClip},
    Advice{"trainer", "gradient_clip_algorithm",
           "the global norm of all gradients is clipped; remove the key"},
    Advice{"trainer", "mixed_precision", kPrecision},
    Advice{"trainer", "bf16", kPrecision},
    Advice{"trainer", "fp16", kPrecision},
    Advice{"trainer", "gradient_checkpointing", kRecomputeAbove},
    Advice{"trainer", "nnodes", "write trainer.num_nodes"},
    Advice{"trainer", "num_machines", "write trainer.num_nodes"},
    Advice{"trainer", "nproc_per_node", "write trainer.devices"},
    Advice{"trainer", "num_processes", "write trainer.devices"},
    Advice{
        "trainer", "sync_batchnorm",
        "running statistics are averaged over the data ranks before validations; remove the key"},
    Advice{"trainer", "deepspeed", "write trainer.strategy: {name: deepspeed, config: FILE}"},
    Advice{"trainer", "fsdp", kLayout},
    Advice{"trainer", "data_parallel_size", "write trainer.strategy.data_parallel_size"},
    Advice{"trainer", "tensor_parallel_size", "write trainer.strategy.tensor_parallel_size"},
    Advice{"", "distributed_type", kLayout},
    Advice{"", "zero_optimization", kZero},
    Advice{"", "deepspeed_config", "write trainer.strategy: {name: deepspeed, config: FILE}"},
    Advice{"", "fsdp_config", "write trainer.strategy: {name: fsdp, config: FILE}"},
    Advice{"", "bf16", kPrecision},
    Advice{"", "fp16", kPrecision},
    Advice{"", "mixed_precision", kPrecision},
    Advice{"", "gradient_accumulation_steps", kAccumulate},
    Advice{"", "gradient_clipping", kClip},
    Advice{"", "activation_checkpointing", kRecomputeAbove},
    Advice{"", "train_micro_batch_size_per_gpu", "write data.train_ds.batch_size"},
    Advice{"", "train_batch_size",
           "write data.train_ds.batch_size; ranks and trainer.accumulate_grad_batches multiply it"},
    Advice{"", "num_processes", "write trainer.devices"},
    Advice{"", "num_machines", "write trainer.num_nodes"},
};

bool says(std::string_view wanted, const Config& value) {
  return wanted.empty() || (value.is_scalar() && value.text() == wanted);
}

}  // namespace

OurOption our_strategy_option(const std::string& key, const Config& value) {
  for (const Option& option : kOptions) {
    if (option.key == key && says(option.value, value)) return {option.our_key, option.our_value};
  }
  return {};
}

std::string why_without_effect(const std::string& key, const Config& value) {
  for (const Reason& reason : kWithoutEffect) {
    if (reason.key == key && says(reason.value, value)) return reason.why;
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

std::string instead_of(const std::string& path, const std::string& key, const Config& value) {
  if (path == "trainer.strategy") {
    const OurOption ours = our_strategy_option(key, value);
    if (!ours.value.empty()) return "write " + ours.key + ": " + ours.value;
    if (!ours.key.empty()) return "write " + ours.key;
  }
  const auto find = [&key](std::string_view block) -> std::string {
    for (const Advice& advice : kAdvice) {
      if (advice.path == block && advice.key == key) return advice.write;
    }
    return "";
  };
  const std::string here = find(path);
  // DeepSpeed's top-level keys, written under `trainer`.
  return here.empty() && path == "trainer" ? find("") : here;
}

}  // namespace s2s::run
