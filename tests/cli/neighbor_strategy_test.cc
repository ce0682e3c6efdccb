// trainer.strategy as users of NeMo, Lightning, FSDP and DeepSpeed write it.

#include <doctest/doctest.h>

#include <string>

#include "cli/command.h"
#include "common/temporary_folder.h"

using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;

namespace {

/// The smallest configuration with another strategy.
CommandResult check(const std::string& strategy, const std::string& words = "",
                    const std::string& command = "config check") {
  const s2s::test::TemporaryFolder folder;
  const std::string path = folder.write(
      "run.yaml", "trainer:\n  strategy: " + strategy + "\n  max_steps: 10\n  max_epochs: 3\n");
  return run_cli(command + " " + path + " " + words);
}

}  // namespace

TEST_CASE("strategies of Lightning and NeMo are read as ours, with a note for each key") {
  const CommandResult parallel = check(
      "{_target_: nemo.core.ModelParallelStrategy, find_unused_parameters: false, "
      "data_parallel: 2, tensor_parallel: 4}",
      "trainer.devices=8");
  CAPTURE(parallel.output);
  CHECK(has(parallel, "\"nemo.core.ModelParallelStrategy\" is read as name: model_parallel"));
  CHECK(has(parallel, "2 is read as data_parallel_size: 2"));
  CHECK(has(parallel, "4 is read as tensor_parallel_size: 4"));
  CHECK(has(parallel, "ignored: trainer.strategy.find_unused_parameters"));
  CHECK_FALSE(has(parallel, "in trainer.strategy"));

  const CommandResult text = check("deepspeed_stage_3_offload", "", "config show");
  CAPTURE(text.output);
  CHECK(has(text, "name: fsdp"));
  CHECK(has(text, "zero_stage: 3"));
  CHECK(has(text, "offload: params"));

  const CommandResult sharded = check(
      "{_target_: lightning.pytorch.strategies.FSDPStrategy, sharding_strategy: SHARD_GRAD_OP, "
      "cpu_offload: false}",
      "", "config show");
  CAPTURE(sharded.output);
  CHECK(has(sharded, "reshard_after_forward: never"));
  CHECK(has(sharded, "offload: none"));
}

TEST_CASE("NeMo's parts of a model are read, or answered with what to write") {
  const s2s::test::TemporaryFolder folder;
  const std::string path = folder.write(
      "nemo.yaml",
      "model:\n  pretrained_llm: TinyLlama/TinyLlama_v1.1\n  pretrained_asr: stt_en\n"
      "  pretrained_audio_codec: audio_codec.nemo\n  type: duplex_s2s\n"
      "  lora: {dim: 8}\n"
      "  optimizer: {_target_: torch.optim.AdamW, lr: 3e-4, foreach: true}\n"
      "  lr_scheduler: {_target_: nemo.core.optim.lr_scheduler.CosineAnnealing, max_steps: 10}\n");
  const CommandResult found = run_cli("config check " + path);
  CAPTURE(found.output);
  CHECK(found.exit_code == 3);
  for (const char* part :
       {"unknown key 'pretrained_llm' in model", "write llm: {name: llama, path: FOLDER}",
        "write encoder: {name: fastconformer}", "write codec: {name: mel_fsq}",
        "read as model.lora.r", "\"torch.optim.AdamW\" is read as name: adamw",
        "is read as name: cosine_annealing", "ignored: model.optimizer.foreach"}) {
    CHECK_MESSAGE(has(found, part), part);
  }
  CHECK_FALSE(has(found, "in model.optimizer"));
  CHECK_FALSE(has(found, "in model.lr_scheduler"));
}

TEST_CASE("augmentations of NeMo's speech-to-text data set are answered by name") {
  const s2s::test::TemporaryFolder folder;
  const std::string path =
      folder.write("nemo.yaml",
                   "model: {type: duplex_stt, force_align_user_text: true, eos_token: </s>}\n"
                   "data: {use_codec_aug: true, codec_prob: 0.1, aug_by_swap_role: true,\n"
                   "       use_noise_aug: true, noise_min_snr: 5, early_interruption_prob: 0.1,\n"
                   "       word_align_position: right}\n");
  const CommandResult found = run_cli("config check " + path);
  CAPTURE(found.output);
  CHECK(found.exit_code == 3);
  for (const char* part : {"'use_codec_aug' in data", "'codec_prob' in data",
                           "'aug_by_swap_role' in data", "compression_enabled", "swapped roles",
                           "s2s does not align", "read as model.tokenizer.eos_token"}) {
    CHECK_MESSAGE(has(found, part), part);
  }
  for (const char* part :
       {"word_align_position", "use_noise_aug", "noise_min_snr", "early_interruption_prob"}) {
    CHECK_FALSE_MESSAGE(has(found, part), part);
  }
}

TEST_CASE("augmentations that NeMo's configuration turns off have no effect") {
  const s2s::test::TemporaryFolder folder;
  const std::string path =
      folder.write("nemo.yaml",
                   "model: {type: duplex_stt, force_align_user_text: false,\n"
                   "        force_align_device: cuda}\n"
                   "data: {use_codec_aug: false, codec_prob: 0.1, aug_by_swap_role: null}\n");
  const CommandResult found = run_cli("config check " + path);
  CAPTURE(found.output);
  for (const char* key : {"use_codec_aug", "codec_prob", "aug_by_swap_role",
                          "force_align_user_text", "force_align_device"}) {
    CHECK_FALSE_MESSAGE(has(found, "unknown key '" + std::string(key)), key);
  }
}

TEST_CASE("what has no twin here ends in one message that says what to write") {
  const CommandResult keys = check(
      "{name: fsdp, stage: 2, sharding_strategy: HYBRID_SHARD, cpu_offload: true, tp_size: 2, "
      "timeout: 100}");
  CAPTURE(keys.output);
  CHECK(keys.exit_code == 3);
  CHECK(has(keys, "unknown key 'stage' in trainer.strategy"));
  CHECK(has(keys, "; write zero_stage\n"));
  CHECK(has(keys, "replicate_size: R (replicas of the split model) for HYBRID_SHARD"));
  CHECK(has(keys, "; write offload: params\n"));
  CHECK(has(keys, "; write tensor_parallel_size\n"));
  CHECK(has(keys, "; write trainer.communicator.timeout_s, in seconds\n"));
  CHECK(has(keys, "the length of a run is given in steps, not epochs: write trainer.max_steps"));

  CHECK(has(check("{name: hsdp}"), "[config/strategy] trainer.strategy.name"));
  CHECK(has(check("{_target_: a.b.XLAStrategy, x: 1}"), "is not a known strategy"));
  CHECK(has(check("{name: ddp, _target_: a.DDPStrategy}"), "has both name: ddp and _target_"));
}

TEST_CASE("a strategy that has no place for the configured ranks is a finding") {
  CHECK(has(check("{name: fsdp, data_parallel_size: 4}", "trainer.devices=4 trainer.num_nodes=2"),
            "[config/strategy] trainer.devices and trainer.num_nodes say 8 processes"));
  CHECK(has(check("{name: fsdp, data_parallel_size: -1}"), "expected auto or a number of ranks"));
  CHECK_FALSE(has(check("{name: fsdp, replicate_size: 2}", "trainer.devices=auto"), "replicate"));
}

TEST_CASE("a list of GPUs is told how many and by which variable") {
  const CommandResult found = check("{name: ddp}", "trainer.devices=[1,3]");
  CHECK(found.exit_code == 3);
  CHECK(has(found, "trainer.devices"));
  CHECK(has(found, "devices: 2 and CUDA_VISIBLE_DEVICES=1,3 in the environment"));
  CHECK_FALSE(has(found, "expected a string"));
}
