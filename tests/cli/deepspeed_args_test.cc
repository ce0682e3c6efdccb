// s2s-run deepspeed-args: the command line of seed 004.

#include <doctest/doctest.h>

#include "cli/command.h"
#include "common/temporary_folder.h"

using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;

namespace {

/// The line of the page, with another file.
std::string line_of_page(const std::string& file) {
  return "deepspeed-args --output_dir /workspace/.cache/models "
         "--init_ckpt /pretrained/tinyllama-2-1b --data_path /datasets/dataset.train.jsonl "
         "--max_seq_len 128 --train_steps 1000 --eval_steps 10 --save_steps 1000 --log_steps 10 "
         "--pipe_parallel_size 2 --model_parallel_size 1 --use_flash_attn true "
         "--use_fused_ops false --deepspeed_config " +
         file;
}

/// What FMEngine's configs/llama.json has.
constexpr const char* kFile = R"({"train_micro_batch_size_per_gpu": 8, "train_batch_size": 32,
  "steps_per_print": 1, "gradient_clipping": 1.0, "lr-decay-style": "cosine", "warmup": 0.1,
  "precision": "bfloat16", "bf16": {"enabled": true}, "fp16": {"enabled": false},
  "data_types": {"grad_accum_dtype": "fp32"}, "zero_optimization": {"stage": 0},
  "optimizer": {"type": "Adam", "params": {"lr": 1e-5, "betas": [0.9, 0.95], "eps": 1.0e-6}},
  "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 1e-6, "warmup_max_lr": 5e-5,
                                               "warmup_num_steps": 50}},
  "min_lr": 5e-7, "activation_checkpointing": {"partition_activations": false},
  "wall_clock_breakdown": false, "flops_profiler": {"enabled": false}})";

}  // namespace

TEST_CASE("the options of seed 004 are a configuration, which is printed") {
  const s2s::test::TemporaryFolder folder;
  const std::string file = folder.write("llama.json", kFile);
  const CommandResult printed = run_cli(line_of_page(file) + " --dry-run");
  CAPTURE(printed.output);
  CHECK(printed.exit_code == 0);
  for (const char* const part :
       {"type: causal_lm\n", "    path: /pretrained/tinyllama-2-1b\n", "name: hf\n",
        "    path: /datasets/dataset.train.jsonl\n", "max_seq_len: 128\n", "max_steps: 1000\n",
        "every_n_train_steps: 1000\n", "log_every_n_steps: 10\n", "name: deepspeed\n",
        "explicit_log_dir: /workspace/.cache/models\n",
        "# --use_flash_attn: ", "# --pipe_parallel_size 2: there are no pipeline stages",
        "# --eval_steps: no validation"}) {
    CHECK_MESSAGE(has(printed, part), part);
  }
  // What is printed is a configuration: two ranks of it have the global batch of the file.
  const std::string yaml = folder.write("run.yaml", printed.output);
  const CommandResult shown = run_cli("config show " + yaml + " trainer.devices=2 2> /dev/null");
  CAPTURE(shown.output);
  for (const char* const part :
       {"name: fsdp", "zero_stage: 3 ", "batch_size: 8 ", "accumulate_grad_batches: 2 ",
        "gradient_clip_val: 1.0", "precision: bf16-mixed", "lr: 1e-5", "name: warmup_lr"}) {
    CHECK_MESSAGE(has(shown, part), part);
  }
}

TEST_CASE("tensor ranks, validation sets and more keys of deepspeed-args") {
  const std::string base = "deepspeed-args --init_ckpt a --data_path b.jsonl --dry-run ";
  const CommandResult split = run_cli(base +
                                      "--model_parallel_size 2 --seed 3 --eval_steps 5 "
                                      "data.validation_ds.datasets.dev.path=c.jsonl");
  CAPTURE(split.output);
  CHECK(has(split, "name: model_parallel\n"));
  CHECK(has(split, "tensor_parallel_size: 2\n"));
  CHECK(has(split, "val_check_interval: 5\n"));
  CHECK(has(split, "seed: 3\n"));
  CHECK_FALSE(has(split, "# --eval_steps"));
  CHECK(has(run_cli(base), "name: ddp\n"));
  CHECK(has(run_cli(base), "batch_size: 1\n"));
}

TEST_CASE("deepspeed-args runs what it printed, or says which model is missing") {
  const s2s::test::TemporaryFolder folder;
  const std::string file = folder.write("llama.json", kFile);
  const bool has_model = has(run_cli("plugin list --kind model"), "causal_lm");
  const CommandResult run = run_cli(line_of_page(file));
  CAPTURE(run.output);
  CHECK(run.exit_code != 0);  // the folder of the model does not exist
  CHECK(has(run, "[model/no-text-model] no plugin provides model:causal_lm") == !has_model);
  // With another model the words reach the check of a run.
  const CommandResult other = run_cli(line_of_page(file) + " model.type=duplex_s2s");
  CAPTURE(other.output);
  CHECK(other.exit_code == 3);
  CHECK(has(other, "model.llm"));
  CHECK(has(other, "[config/missing]"));
}
