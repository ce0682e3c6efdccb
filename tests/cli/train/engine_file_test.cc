// A run that a DeepSpeed, FSDP or accelerate file configures is the run written with our keys: the
// same losses and the same checkpoint, bit for bit.

#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

/// tiny.yaml without the keys that such files have.
const Words kBare = {"~trainer.precision",
                     "~trainer.gradient_clip_val",
                     "~trainer.strategy",
                     "~model.optimizer",
                     "~model.lr_scheduler",
                     "~data.train_ds.batch_size",
                     "trainer.max_steps=4",
                     "trainer.val_check_interval=4",
                     "exp_manager.checkpoint_callback_params.every_n_train_steps=4"};

void train_two_ranks(const fs::path& run, const Words& more) {
  Words options = kBare;
  options.insert(options.end(), more.begin(), more.end());
  Words words = {"launch", "local", "-n", "2", "--"};
  const Words command = tiny_words("train", run, options);
  words.insert(words.end(), command.begin(), command.end());
  const Outcome outcome = run_s2s(words);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
}

const Words kOptimizer = {
    "model.optimizer={name: adamw, lr: 1e-3, betas: [0.9, 0.95], eps: 1e-8, weight_decay: 0.01}"};

const std::string kSchedule =
    "model.lr_scheduler={name: cosine_annealing, warmup_steps: 1, max_steps: 4}";

}  // namespace

TEST_CASE("a DeepSpeed file trains as the same keys of ours, bit for bit") {
  const TemporaryFolder folder;
  const std::string file = folder.write("ds.json", R"({
    "train_batch_size": 8, "train_micro_batch_size_per_gpu": 2,
    "gradient_accumulation_steps": "auto", "gradient_clipping": 0.3, "bf16": {"enabled": true},
    "zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8, "overlap_comm": true,
                          "offload_optimizer": {"device": "cpu"}},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8,
                                              "weight_decay": 0.01}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-5, "warmup_max_lr": 1e-3,
                                                 "warmup_num_steps": 2}}})");
  train_two_ranks(folder.path() / "theirs",
                  {"trainer.strategy={name: deepspeed, config: " + file + "}"});
  train_two_ranks(
      folder.path() / "ours",
      with(kOptimizer, {"data.train_ds.batch_size=2", "trainer.accumulate_grad_batches=2",
                        "trainer.gradient_clip_val=0.3", "trainer.precision=bf16-mixed",
                        "trainer.strategy={name: fsdp, zero_stage: 2, offload: optimizer, "
                        "param_dtype: bfloat16}",
                        "model.lr_scheduler={name: warmup_lr, warmup_min_lr: 1e-5, "
                        "warmup_max_lr: 1e-3, warmup_num_steps: 2}"}));
  CHECK(num_steps_logged(folder.path() / "ours") == 4);
  check_same_run(folder.path() / "theirs", folder.path() / "ours");
  // The stored configuration does not need the file.
  CHECK(read_text(folder.path() / "theirs/config.yaml").find("ds.json") == std::string::npos);
}

TEST_CASE("an FSDP file, named by the block distributed, trains as the same keys of ours") {
  const TemporaryFolder folder;
  const std::string file = folder.write("fsdp.json", R"({
    "fsdp_sharding_strategy": "FULL_SHARD", "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "fsdp_transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"], "fsdp_offload_params": false,
    "fsdp_backward_prefetch_policy": "BACKWARD_PRE", "fsdp_mixed_precision": "BFLOAT16"})");
  train_two_ranks(folder.path() / "theirs",
                  with(kOptimizer, {kSchedule,
                                    "distributed={use_fsdp: true, fsdp_config: " + file +
                                        ", gradient_accumulation_steps: 2}",
                                    "training={gradient_checkpointing: true, mixed_precision: "
                                    "bf16, micro_batch_size: 1, max_grad_norm: 0.3}"}));
  train_two_ranks(folder.path() / "ours",
                  with(kOptimizer, {kSchedule, "data.train_ds.batch_size=1",
                                    "trainer.accumulate_grad_batches=2",
                                    "trainer.gradient_clip_val=0.3", "trainer.precision=bf16-mixed",
                                    "trainer.strategy={name: fsdp, param_dtype: bfloat16, "
                                    "activation_checkpointing: full}"}));
  check_same_run(folder.path() / "theirs", folder.path() / "ours");

  // A checkpoint of somebody else must not choose a file of this machine.
  const fs::path config = fs::canonical(folder.path() / "ours/checkpoints/last") / "config.yaml";
  std::string text = read_text(config);
  const size_t at = text.find("  strategy:\n");
  REQUIRE(at != std::string::npos);
  write_text(config, text.insert(at + 12, "    config: " + file + "\n"));
  const Outcome refused = run_s2s({"config", "check", config.string()});
  CHECK(refused.exit_code == 3);
  CHECK_MESSAGE(
      refused.output.find("a checkpoint must not name a file to read") != std::string::npos,
      refused.output);
}
