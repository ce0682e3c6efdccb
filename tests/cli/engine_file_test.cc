// The files of DeepSpeed, FSDP and accelerate, and the blocks of seed 003, as a configuration.

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"
#include "common/temporary_folder.h"

using nlohmann::json;
using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;
using s2s::test::run_shell;
using s2s::test::TemporaryFolder;

namespace {

/// The example of seed 003.
constexpr const char* kDeepSpeed = R"({
  "train_micro_batch_size_per_gpu": "auto",
  "gradient_accumulation_steps": 16,
  "gradient_clipping": 0.3,
  "zero_allow_untested_optimizer": true,
  "zero_force_ds_cpu_optimizer": false,
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": 2,
    "contiguous_gradients": true, "overlap_comm": true, "reduce_scatter": true,
    "reduce_bucket_size": 5e8, "allgather_bucket_size": 5e8,
    "offload_optimizer": {"device": "cpu", "pin_memory": true}
  }
})";
constexpr const char* kFsdp = R"({
  "fsdp_transformer_layer_cls_to_wrap": ["LlamaDecoderLayer", "MistralDecoderLayer"],
  "fsdp_sharding_strategy": "FULL_SHARD",
  "fsdp_state_dict_type": "SHARDED_STATE_DICT",
  "fsdp_cuda_graphs": false,
  "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
  "fsdp_sync_module_states": true,
  "fsdp_use_orig_params": false,
  "fsdp_backward_prefetch_policy": "BACKWARD_PRE",
  "fsdp_forward_prefetch": false,
  "fsdp_cpu_ram_efficient_loading": true,
  "fsdp_mixed_precision": "BFLOAT16"
})";

/// `config show` of a configuration with this text and `file` beside it as engine.json.
CommandResult show(const std::string& config, const std::string& file,
                   const std::string& words = "", const std::string& environment = "") {
  const TemporaryFolder folder;
  folder.write("run.yaml", config);
  folder.write("engine.json", file);
  return run_shell("cd " + folder.path().string() + " && " + environment + " " +
                   s2s::test::binary_dir() + "/bin/s2s-run config show run.yaml " + words +
                   " > out 2> err; code=$?; cat out err; exit $code");
}

CommandResult show_strategy(const std::string& name, const std::string& file,
                            const std::string& words = "", const std::string& environment = "") {
  return show("trainer:\n  strategy: {name: " + name +
                  ", config: engine.json}\n  max_steps: 10\n"
                  "model: {type: duplex_s2s}\ndata: {train_ds: {name: cuts}}\n",
              file, words, environment);
}

void check_lines(const CommandResult& result, const std::vector<std::string>& lines) {
  CAPTURE(result.output);
  for (const std::string& line : lines) CHECK_MESSAGE(has(result, line), line);
}

/// The table of one format in `config keys`: its keys.
std::vector<std::string> keys_below(const std::string& heading) {
  std::istringstream page(run_cli("config keys").output);
  std::vector<std::string> keys;
  std::string line;
  bool is_here = false;
  while (std::getline(page, line)) {
    if (line.starts_with("## ")) is_here = line == "## " + heading;
    if (is_here && line.starts_with("| `")) keys.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  return keys;
}

json with_values(const std::vector<std::string>& keys, const json& value) {
  json file = json::object();
  for (const std::string& key : keys) {
    std::string pointer = "/" + key;
    for (char& c : pointer) c = c == '.' ? '/' : c;
    file[json::json_pointer(pointer)] = value;
  }
  return file;
}

}  // namespace

TEST_CASE("the DeepSpeed file of the guide sets our keys and names those without effect") {
  check_lines(
      show_strategy("deepspeed", kDeepSpeed),
      {"name: fsdp", "zero_stage: 2 ", "# engine.json:9:5", "offload: optimizer",
       "bucket_cap_mb: 953.67", "param_dtype: bfloat16", "precision: bf16-mixed",
       "gradient_clip_val: 0.3", "accumulate_grad_batches: 16",
       "ignored: zero_optimization.overlap_comm (engine.json:10:35): this is always done",
       "ignored: zero_allow_untested_optimizer", "ignored: zero_optimization.allgather_bucket_size",
       "\"auto\" takes this configuration's values: train_micro_batch_size_per_gpu"});
  // Lightning's class, its registered names, and a map in place of a file.
  check_lines(
      show("trainer: {strategy: {_target_: a.DeepSpeedStrategy, config: engine.json}}", kDeepSpeed),
      {"name: fsdp", "zero_stage: 2 "});
  check_lines(
      show("trainer: {strategy: {name: deepspeed, config: {zero_optimization: {stage: 3}}}}", ""),
      {"name: fsdp", "zero_stage: 3 "});
  check_lines(show_strategy("deepspeed", "{\"gradient_clipping\": 0}"), {"name: ddp"});
  check_lines(show_strategy("deepspeed",
                            R"({"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 4},
                                "tensor_parallel": {"autotp_size": 2},
                                "communication_data_type": "fp32",
                                "activation_checkpointing": {"partition_activations": true}})"),
              {"name: model_parallel", "tensor_parallel_size: 2", "reshard_after_forward: 4",
               "reduce_dtype: float32", "activation_checkpointing: full"});
}

TEST_CASE("the FSDP file of the guide sets our keys, with or without the prefix") {
  check_lines(show_strategy("fsdp", kFsdp),
              {"name: fsdp", "zero_stage: 3 ", "param_dtype: bfloat16", "precision: bf16-mixed",
               "ignored: fsdp_transformer_layer_cls_to_wrap", "ignored: fsdp_state_dict_type",
               "ignored: fsdp_cuda_graphs"});
  check_lines(show_strategy("fsdp", R"({"sharding_strategy": 2, "offload_params": true})"),
              {"reshard_after_forward: never", "offload: params"});
  check_lines(show_strategy("fsdp", R"({"fsdp_sharding_strategy": "NO_SHARD"})"), {"name: ddp"});
  const char* const hybrid = R"({"fsdp_sharding_strategy": "HYBRID_SHARD"})";
  check_lines(show_strategy("fsdp", hybrid, "trainer.num_nodes=2"), {"replicate_size: 2"});
  check_lines(show_strategy("fsdp", hybrid), {"[config/engine-key] fsdp_sharding_strategy "});
  check_lines(
      show_strategy("fsdp", R"({"fsdp_sharding_strategy": "FULL_SHRD"})"),
      {"[config/choice] fsdp_sharding_strategy (engine.json:1:2)", "did you mean 'FULL_SHARD'?"});
}

TEST_CASE("accelerate's file chooses a strategy and reads the blocks of DeepSpeed and FSDP") {
  check_lines(show_strategy("accelerate",
                            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n"
                            "downcast_bf16: 'no'\nfsdp_config:\n  fsdp_version: 2\n"
                            "  fsdp_reshard_after_forward: false\nmachine_rank: 0\n"
                            "mixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\n"
                            "rdzv_backend: static\ntpu_env: []\nuse_cpu: false\n"),
              {"name: fsdp", "reshard_after_forward: never", "devices: 8", "num_nodes: 2",
               "precision: bf16-mixed", "ignored: machine_rank"});
  check_lines(show_strategy("accelerate",
                            "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\n"
                            "  offload_param_device: cpu\n  gradient_accumulation_steps: 4\n"
                            "  zero3_init_flag: true\nmixed_precision: fp16\n"),
              {"name: fsdp", "zero_stage: 3 ", "offload: params", "accumulate_grad_batches: 4",
               "precision: 16-mixed"});
  check_lines(show_strategy("accelerate", "distributed_type: MULTI_GPU\ndynamo_config: {}\n"),
              {"name: ddp"});
  check_lines(show_strategy("accelerate", "distributed_type: XLA\n"),
              {"[config/choice] distributed_type", "MULTI_GPU"});
}

TEST_CASE("the blocks distributed and training work as the guide writes them") {
  const std::string training =
      "training:\n  gradient_checkpointing: true\n  mixed_precision: \"bf16\"\n"
      "  micro_batch_size: 2\n  max_grad_norm: 0.3\n  report_to: tensorboard\n"
      "data: {train_ds: {name: cuts}}\ntrainer: {max_steps: 100}\n";
  const std::string deepspeed =
      "distributed:\n  use_deepspeed: true\n  deepspeed_config: engine.json\n"
      "  gradient_accumulation_steps: 16\n";
  check_lines(show(deepspeed + training, kDeepSpeed),
              {"name: fsdp", "zero_stage: 2 ", "accumulate_grad_batches: 16", "batch_size: 2",
               "activation_checkpointing: full", "precision: bf16-mixed", "gradient_clip_val: 0.3",
               "name: tensorboard"});
  check_lines(show("distributed:\n  use_fsdp: true\n  fsdp_config: engine.json\n"
                   "  use_deepspeed: false\n",
                   kFsdp),
              {"name: fsdp", "zero_stage: 3 ", "param_dtype: bfloat16"});
  check_lines(show("distributed: {num_gpus_per_node: 4, num_nodes: 2, master_port: 29500}\n", ""),
              {"name: ddp", "devices: 4", "num_nodes: 2", "ignored: distributed.master_port"});
  check_lines(show("distributed: {use_deepspeed: true, zero_stage: 3}\n", ""),
              {"name: fsdp", "zero_stage: 3 "});
  check_lines(show("training: {lr_scheduler_type: linear, warmup_ratio: 0.1, learning_rate: 1e-4,\n"
                   "  optimizer: adamw_torch}\ntrainer: {max_steps: 100}\n",
                   "", "model"),
              {"name: adamw", "lr: 1e-4", "name: warmup_decay_lr", "warmup_num_steps: 10",
               "total_num_steps: 100"});
  check_lines(show("training: {lr_scheduler_type: constant_with_warmup, warmup_steps: 7}\n"
                   "trainer: {max_steps: 100}\n",
                   "", "model"),
              {"name: warmup_lr", "warmup_type: linear", "warmup_num_steps: 7"});
  check_lines(
      show("training: {per_device_train_batch_size: 3, logging_steps: 5, save_steps: 1e2,\n"
           "  bf16: true, optim: adamw_torch, num_train_epochs: 1, output_dir: out}\n"
           "trainer: {max_steps: 100}\ndata: {train_ds: {name: cuts}}\n",
           ""),
      {"batch_size: 3", "log_every_n_steps: 5", "every_n_train_steps: 100", "precision: bf16-mixed",
       "name: adamw", "ignored: training.num_train_epochs", "explicit_log_dir: out"});
  check_lines(show("training: {warmup_steps: 7}\ntrainer: {max_steps: 100}\n", ""),
              {"warning: training.warmup_steps", "has no effect without a schedule"});
  check_lines(
      show("distributed: {use_deepspeed: true, use_fsdp: true, use_deepsped: 1}\n"
           "training: {epochs: 3, mixed_precision: fp8, optimizer: paged_adamw_8bit}\n",
           ""),
      {"[config/engine-key] distributed.use_fsdp (run.yaml:1:36)",
       "unknown key 'use_deepsped' in distributed (run.yaml:1:52); did you mean "
       "'use_deepspeed'?",
       "[config/engine-key] training.epochs", "write trainer.max_steps",
       "[config/choice] training.mixed_precision", "[config/engine-key] training.optimizer"});
}

TEST_CASE("optimizers, schedules and monitors of a DeepSpeed file are ours") {
  const char* const file = R"({
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-5, "betas": [0.9, 0.95]}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_min_lr": "auto",
      "warmup_num_steps": 5, "total_num_steps": "auto"}},
    "tensorboard": {"enabled": true, "output_path": "logs", "job_name": "a"},
    "wandb": {"enabled": true, "project": "p", "team": "t"}, "csv_monitor": {"enabled": false}})";
  check_lines(show_strategy("deepspeed", file),
              {"name: adamw", "lr: 1e-5", "betas: [0.9, 0.95]", "weight_decay: 0.0",
               "name: warmup_decay_lr", "total_num_steps: 10 ", "warmup_max_lr: 0.001",
               "save_dir: logs/a", "project: p", "entity: t"});
  check_lines(
      show_strategy("deepspeed", R"({"scheduler": {"type": "cosine", "params":
                {"warmup_min_lr": 0, "warmup_max_lr": 2e-4, "warmup_num_steps": 3}}})"),
      {"name: warmup_cosine_lr", "lr: 2e-4", "warmup_type: linear", "total_num_steps: 10 "});
  const char* const automatic = R"({"scheduler": {"type": "WarmupLR", "params":
                {"warmup_num_steps": "auto", "warmup_max_lr": "auto"}}})";
  check_lines(show_strategy("deepspeed", automatic),
              {"warmup_num_steps: 0 ",
               "scheduler.params.warmup_num_steps (engine.json:2:18) is "
               "\"auto\": no warm-up"});
  check_lines(show_strategy("deepspeed", automatic,
                            "'model.lr_scheduler={name: warmup_lr, warmup_num_steps: 7}'"),
              {"warmup_num_steps: 7 "});
  check_lines(show_strategy("deepspeed", automatic, "training.warmup_steps=4"),
              {"warmup_num_steps: 4 "});
  check_lines(show_strategy("deepspeed", automatic, "training.warmup_ratio=0.25"),
              {"warmup_num_steps: 3 "});  // of 10 steps, rounded up
  check_lines(show_strategy("deepspeed", R"({"optimizer": {"type": "OneBitAdam"}})"),
              {"[config/engine-key] optimizer.type"});
  check_lines(show_strategy("deepspeed", R"({"scheduler": {"type": "OneCycle", "params":
                {"cycle_min_lr": 1e-5, "cycle_max_lr": 1e-3}}})"),
              {"write cycle_momentum: false in params"});
}

TEST_CASE("other optimizers of a DeepSpeed file are ours, with DeepSpeed's defaults") {
  check_lines(show_strategy("deepspeed", R"({"optimizer": {"type": "SGD", "params":
                {"lr": 0.01, "momentum": 0.9, "nesterov": true}}})"),
              {"name: sgd", "lr: 0.01", "momentum: 0.9", "nesterov: true"});
  check_lines(show_strategy("deepspeed", R"({"optimizer": {"type": "Lion", "params": {}}})"),
              {"name: lion", "lr: 0.001", "betas: [0.9, 0.99]", "weight_decay: 0.0"});
  check_lines(show_strategy("deepspeed", R"({"optimizer": {"type": "Muon", "params":
                {"lr": 1e-3, "muon_lr": 0.03, "betas": [0.8, 0.9], "ns_method": "gram"}}})"),
              {"name: muon", "lr: 0.03", "adamw_lr: 1e-3", "adamw_betas: [0.8, 0.9]",
               "adamw_eps: 1e-10", "weight_decay: 0.0", "ignored: optimizer.params.ns_method"});
  check_lines(show_strategy("deepspeed", R"({"optimizer": {"type": "Adafactor"}})"),
              {"[config/engine-key] optimizer.type", "torch.optim.Adafactor",
               "write model.optimizer: {name: adafactor}"});
  check_lines(show("training: {optimizer: adafactor, learning_rate: 1e-4}\n", "", "model"),
              {"name: adafactor", "relative_step: false", "scale_parameter: false", "lr: 1e-4"});
}

TEST_CASE("unknown keys have suggestions, and what is not implemented is refused when it is on") {
  const CommandResult unknown = show_strategy(
      "deepspeed", R"({"zero_optimisation": {"stage": 2}, "bf16": {"enable": true}})");
  CHECK(unknown.exit_code == 3);
  check_lines(unknown, {"[config/unknown-key] unknown key 'zero_optimisation' in engine.json "
                        "(engine.json:1:2); did you mean 'zero_optimization'?",
                        "unknown key 'enable' in bf16", "did you mean 'enabled'?"});
  check_lines(
      show_strategy("deepspeed", R"({"zero_optimization": {"stage": 4, "offload_param":
        {"device": "nvme"}, "zero_quantized_weights": true}, "fp16": {"enabled": true,
        "loss_scale": 128}, "sparse_attention": {"mode": "fixed"}, "pipeline": {},
        "flops_profiler": {"enabled": true}})"),
      {"[config/choice] zero_optimization.stage", "[config/engine-key] fp16.loss_scale",
       "offload_param.device (engine.json:2:10) is \"nvme\"; only host memory is used; write cpu",
       "[config/engine-key] zero_optimization.zero_quantized_weights",
       "[config/engine-key] sparse_attention", "ignored: flops_profiler"});
  check_lines(show_strategy("deepspeed", R"({"sequence_parallel_size": 2})"),
              {"[config/engine-key] sequence_parallel_size"});
  const CommandResult one = show_strategy("deepspeed", R"({"sequence_parallel_size": 1})");
  CHECK(has(one, "name: ddp"));
  CHECK_FALSE(has(one, "sequence_parallel_size"));
  check_lines(show_strategy("deepspeed", "[1]"), {"[config/type]"});
  check_lines(show("trainer: {strategy: {name: deepspeed, config: engine.jsn}}", "{}"),
              {"[config/no-file] trainer.strategy.config (run.yaml:1:39): there is no file "
               "'engine.jsn'; expected a JSON file of DeepSpeed",
               "did you mean 'engine.json'?"});
  check_lines(show("trainer: {strategy: {name: ddp, config: engine.json}}", "{}"),
              {"unknown key 'config'", "only name: deepspeed, fsdp and accelerate read a file"});
}

TEST_CASE("two values for one key are a finding; equal values and auto are not") {
  const CommandResult two = show_strategy("deepspeed", R"({"gradient_clipping": 0.3,
    "gradient_accumulation_steps": 2, "bf16": {"enabled": false}})",
                                          "trainer.gradient_clip_val=1.0 "
                                          "trainer.accumulate_grad_batches=2 "
                                          "trainer.precision=bf16-mixed");
  check_lines(two,
              {"[config/two-values] trainer.gradient_clip_val (command line: "
               "trainer.gradient_clip_val=1.0) is 1.0, but the file says 0.3 (engine.json:1:2)",
               "[config/engine-key] bf16.enabled"});
  CHECK_FALSE(has(two, "trainer.accumulate_grad_batches ("));
  CHECK_FALSE(has(show_strategy("deepspeed", R"({"bf16": {"enabled": true},
    "gradient_clipping": "auto"})",
                                "trainer.precision=bf16-true trainer.gradient_clip_val=1"),
                  "[config/two-values]"));
}

TEST_CASE("micro-batch, accumulation and ranks make the global batch, or give the missing one") {
  const auto file = [](const std::string& global, const std::string& batch,
                       const std::string& steps) {
    return "{\"train_batch_size\": " + global + ", \"train_micro_batch_size_per_gpu\": " + batch +
           ", \"gradient_accumulation_steps\": " + steps + "}";
  };
  check_lines(show_strategy("deepspeed", file("64", "2", "4"), "trainer.devices=4"),
              {"[config/global-batch] train_batch_size (engine.json:1:2) is 64, but 2 sequences of "
               "a micro-batch * 4 micro-batches * 4 data ranks = 32"});
  CHECK_FALSE(has(show_strategy("deepspeed", file("32", "2", "4"), "trainer.devices=4"),
                  "[config/global-batch]"));
  // Without a number of ranks, the file's is the one that the run asks for.
  check_lines(show_strategy("deepspeed", file("64", "2", "4")), {"devices: 8 "});
  check_lines(show_strategy("deepspeed", file("64", "3", "4")), {"12 does not divide it"});
  const std::string ranks = "RANK=0 LOCAL_RANK=0 WORLD_SIZE=4 MASTER_ADDR=h MASTER_PORT=1";
  check_lines(show_strategy("deepspeed", file("64", "2", "\"auto\""), "", ranks),
              {"accumulate_grad_batches: 8 "});
  check_lines(show_strategy("deepspeed", file("64", "\"auto\"", "2"), "", ranks),
              {"batch_size: 8 "});
  check_lines(show_strategy("deepspeed", file("64", "\"auto\"", "\"auto\"")),
              {"batch_size: 64 ", "divided for one rank here"});
  check_lines(show_strategy("deepspeed", file("62", "2", "\"auto\""), "", ranks),
              {"[config/global-batch]", "8 does not divide it (2 on 4 data ranks)"});
  // The tensor axis has no data ranks of its own, and an elastic run keeps the batch.
  check_lines(show_strategy("deepspeed", file("16", "2", "\"auto\""),
                            "trainer.devices=4 trainer.strategy.tensor_parallel_size=2"),
              {"accumulate_grad_batches: 4 "});
  check_lines(
      show_strategy("deepspeed", file("16", "2", "\"auto\""), "trainer.elastic_ranks=8", ranks),
      {"accumulate_grad_batches: 1 "});
  check_lines(show_strategy("deepspeed", file("16", "2", "2"), "data.train_ds.batch_duration=10"),
              {"ignored: train_batch_size", "ignored: train_micro_batch_size_per_gpu"});
}

TEST_CASE("every key of the tables is read, and the page of the documentation has them all") {
  for (const auto& [heading, name] :
       {std::pair("DeepSpeed", "deepspeed"), std::pair("FSDP", "fsdp"),
        std::pair("accelerate", "accelerate")}) {
    const std::vector<std::string> keys = keys_below(heading);
    CHECK(keys.size() > 20);
    const CommandResult all = show_strategy(name, with_values(keys, "auto").dump());
    CAPTURE(all.output);
    CHECK_FALSE(has(all, "unknown key"));
    CHECK_FALSE(has(all, "[config/type] engine.json"));
  }
  std::ifstream in(s2s::test::source_dir() + "/core/docs/reference/engine_files.md");
  std::ostringstream page;
  page << in.rdbuf();
  const std::string text = page.str();
  const size_t at = text.find("\n## DeepSpeed\n");
  REQUIRE(at != std::string::npos);
  CHECK_MESSAGE(text.substr(at + 1) == run_cli("config keys").output,
                "write the output of s2s-run config keys behind the first part of the page");
}
