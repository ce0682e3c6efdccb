#include "translate/advice.h"

#include <array>

#include "lightning/strategy_names.h"

namespace s2s::interop {
namespace {

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
constexpr const char* kCodecArchive =
    "this is no .nemo file on this machine, and nothing is downloaded; give the archive of an "
    "AudioCodecModel, or write codec: {name: mel_fsq} (s2s-run plugin list --kind codec)";
constexpr const char* kCodec =
    "write codec: {name: mel_fsq}, or for the .nemo archive of an AudioCodecModel codec: {name: "
    "nemo_audio_codec, path: FILE} (s2s-run plugin list --kind codec)";
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

constexpr std::array kRows = {
    advice("trainer.strategy.sharding_strategy",
           "write zero_stage: 3 for FULL_SHARD, also reshard_after_forward: never for "
           "SHARD_GRAD_OP, replicate_size: R (replicas of the split model) for HYBRID_SHARD, and "
           "name: ddp for NO_SHARD"),
    advice("trainer.strategy.device_mesh", "write data_parallel_size and replicate_size"),
    advice("trainer.strategy.mixed_precision", kTypes),
    advice("trainer.strategy.mp_policy", kTypes),
    advice("trainer.strategy.precision", kTypes),
    advice("trainer.strategy.precision_plugin", kTypes),
    advice("trainer.strategy.process_group_backend", "write trainer.communicator.name"),
    advice("trainer.strategy.timeout", "write trainer.communicator.timeout_s, in seconds"),
    advice("trainer.strategy.activation_checkpointing_policy", kRecompute),
    advice("trainer.strategy.gradient_checkpointing", kRecompute),
    advice("trainer.strategy.cpu_offload", "write offload: params, or optimizer"),
    advice("trainer.strategy.offload_param", "write offload: params"),
    advice("trainer.strategy.offload_parameters", "write offload: params"),
    advice("trainer.strategy.offload_optimizer", "write offload: optimizer"),
    advice("trainer.strategy.ddp_comm_hook", "write reduce_dtype: bfloat16 or float16"),
    advice("trainer.strategy.reduce_bucket_size", kBucket),
    advice("trainer.strategy.allgather_bucket_size", kBucket),
    advice("trainer.strategy.pipeline_model_parallel_size", kNoAxis),
    advice("trainer.strategy.context_parallel_size", kNoAxis),
    advice("trainer.strategy.pp_size", kNoAxis),
    advice("trainer.strategy.cp_size", kNoAxis),
    advice("trainer.strategy.activation_checkpointing_perception", kRecompute),
    advice("trainer.strategy.distributed_config",
           "write its keys here: sequence_parallel, offload: params"),
    advice("trainer.strategy.config", "only name: deepspeed, fsdp and accelerate read a file"),
    advice("model.pretrained_llm", kLlm),
    advice("model.pretrained_asr", kAsr),
    advice("model.perception", kEncoder),
    advice("model.pretrained_audio_codec", kCodecArchive),
    advice("model.audio_codec", kCodec),
    advice("model.tokenizer_path", kTokenizer),
    advice("model.llm_attr_name", kOwnLlm),
    advice("model.embed_tokens_attr_name", kOwnLlm),
    advice("model.cache_key", kOwnLlm),
    advice("model.bos_token", kTokenIds),
    advice("model.eos_token", kTokenIds),
    advice("model.pad_token", kTokenIds),
    advice(
        "model.inference_speaker_name",
        "voices have no names here; write inference_speaker_reference: FILE, and remove the key"),
    advice("model.eval_text_turn_taking",
           "texts have no time stamps, and metrics do not read them; remove the key"),
    advice("model.custom_sample_inference", "run s2s-run generate --input FILE"),
    advice("data.use_codec_aug", kNoCodecs),
    advice("data.codec_prob", kNoCodecs),
    advice("data.codec_settings", kNoCodecs),
    advice("data.aug_by_swap_role", kNoSwap),
    advice("model.force_align_user_text",
           "write data.user_text: stamped, with time marks in the texts; s2s does not align"),
    advice("model.advance_text_channel_by",
           "only duplex_s2s, duplex_s2s_speech_decoder and duplex_stt move text channels (NeMo's "
           "DuplexEARTTS reads this key and does not use it); remove the key"),
    advice("model.force_align_device", "s2s does not align texts; remove the key"),
    advice("model.prompt_format", "turns are taken from the data; remove the key"),
    advice("model.peft", "write lora: {r: 8, lora_alpha: 16}"),
    advice("model.pretrained_lm_name",
           "this is no folder on this machine, and nothing is downloaded; give the folder of the "
           "tokenizer, or write tokenizer: {name: hf, path: FOLDER}"),
    advice("model.codec_config", "write codec: {name: rvq_vae, ...}"),
    advice("model.aux_loss_coeff", kNoExperts),
    advice("model.train_gate", kNoExperts),
    advice("model.mtp", "this head is not implemented; remove the key"),
    advice("dflash", "this training of a draft model is not implemented; remove the key"),
    advice("model.lora.dim", "write r"),
    advice("model.lora.alpha", "write lora_alpha"),
    advice("model.lora.dropout", "write lora_dropout"),
    advice("model.optimizer._target_", kPartName),
    advice("model.lr_scheduler._target_", kPartName),
    advice("exp_manager.create_ipl_epoch_stopper_callback", kSteps),
    advice("exp_manager.checkpoint_callback_params.dirpath", kRunFolder),
    advice("exp_manager.checkpoint_callback_params.filepath", kRunFolder),
    advice("trainer.default_root_dir", "write exp_manager.exp_dir"),
    advice("trainer.min_steps", kSteps),
    advice("trainer.max_epochs", kSteps),
    advice("trainer.min_epochs", kSteps),
    advice("trainer.max_time", "write exp_manager.max_time_per_run: DD:HH:MM:SS"),
    advice("trainer.check_val_every_n_epoch", kValidations),
    advice("trainer.callbacks",
           "the functions of Lightning callbacks are built in; remove the key"),
    advice("trainer.profiler",
           "write trainer.profile: {begin_step: N, end_step: M}; log.txt always has the times of "
           "the phases"),
    advice("trainer.overfit_batches", "write data.train_ds.limit: CUTS"),
    advice("trainer.fast_dev_run", "write trainer.max_steps: 1"),
    advice("trainer.gradient_accumulation_steps", kAccumulate),
    advice("trainer.gradient_clipping", kClip),
    advice("trainer.max_grad_norm", kClip),
    advice("trainer.gradient_clip_algorithm",
           "the global norm of all gradients is clipped; remove the key"),
    advice("trainer.mixed_precision", kPrecision),
    advice("trainer.bf16", kPrecision),
    advice("trainer.fp16", kPrecision),
    advice("trainer.gradient_checkpointing", kRecomputeAbove),
    advice("trainer.nnodes", "write trainer.num_nodes"),
    advice("trainer.num_machines", "write trainer.num_nodes"),
    advice("trainer.nproc_per_node", "write trainer.devices"),
    advice("trainer.num_processes", "write trainer.devices"),
    advice(
        "trainer.sync_batchnorm",
        "running statistics are averaged over the data ranks before validations; remove the key"),
    advice("trainer.deepspeed", "write trainer.strategy: {name: deepspeed, config: FILE}"),
    advice("trainer.fsdp", kLayout),
    advice("trainer.data_parallel_size", "write trainer.strategy.data_parallel_size"),
    advice("trainer.tensor_parallel_size", "write trainer.strategy.tensor_parallel_size"),
    advice("distributed_type", kLayout),
    advice("zero_optimization", kZero),
    advice("deepspeed_config", "write trainer.strategy: {name: deepspeed, config: FILE}"),
    advice("fsdp_config", "write trainer.strategy: {name: fsdp, config: FILE}"),
    advice("bf16", kPrecision),
    advice("fp16", kPrecision),
    advice("mixed_precision", kPrecision),
    advice("gradient_accumulation_steps", kAccumulate),
    advice("gradient_clipping", kClip),
    advice("activation_checkpointing", kRecomputeAbove),
    advice("train_micro_batch_size_per_gpu", "write data.train_ds.batch_size"),
    advice("train_batch_size",
           "write data.train_ds.batch_size; ranks and trainer.accumulate_grad_batches multiply it"),
    advice("num_processes", "write trainer.devices"),
    advice("num_machines", "write trainer.num_nodes"),
};

}  // namespace

std::map<std::string, std::vector<ForeignKey>> advised_keys() {
  const ForeignKeys strategy = strategy_options();
  return {{"", {kRows.begin(), kRows.end()}},
          {"trainer.strategy", {strategy.begin(), strategy.end()}}};
}

}  // namespace s2s::interop
