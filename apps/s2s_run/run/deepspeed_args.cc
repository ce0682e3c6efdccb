// s2s-run deepspeed-args: the command line of FMEngine's cli/train.py as a configuration, which is
// printed and trained. Source: eth-easl/fmengine, cli/train.py and dataloader.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <optional>

#include "comm/launch_environment.h"
#include "config/load_config.h"
#include "config/yaml_writer.h"
#include "plugin/plugin_host.h"
#include "plugin/search_path.h"
#include "run/run.h"
#include "run/training_run.h"
#include "s2s/error.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

struct DeepSpeedArgs {
  std::string output_dir = "./output", init_ckpt, data_path, deepspeed_config;
  int64_t max_seq_len = 128, train_steps = 100, save_steps = 100, log_steps = 1;
  std::optional<int64_t> eval_steps, seed, local_rank;
  int64_t pipe_parallel_size = 1, model_parallel_size = 1;
  std::string use_flash_attn = "false", use_fused_ops = "false";
  std::vector<std::string> overrides;
  bool is_dry_run = false;
};

/// A value as YAML on a command line: in quotes, whatever is in it.
std::string quoted(const std::string& text) {
  return write_yaml_inline(Config::scalar(text, true));
}

std::string strategy_of(const DeepSpeedArgs& args) {
  std::string out = "trainer.strategy={name: ";
  const bool has_file = !args.deepspeed_config.empty();
  const bool is_split = args.model_parallel_size > 1;
  out += has_file ? "deepspeed, config: " + quoted(args.deepspeed_config)
                  : (is_split                      ? "model_parallel"
                     : args.pipe_parallel_size > 1 ? "fsdp"
                                                   : "ddp");
  // The stages of a pipeline share a model's memory; here its shards do.
  if (args.pipe_parallel_size > 1) out += ", zero_stage: 3";
  if (is_split) out += ", tensor_parallel_size: " + std::to_string(args.model_parallel_size);
  return out + "}";
}

/// FMEngine pads and cuts each line of the file by itself, and trains on all of its tokens.
std::vector<std::string> words_of(const DeepSpeedArgs& args) {
  const auto number = [](const char* key, int64_t value) {
    return std::string(key) + "=" + std::to_string(value);
  };
  std::vector<std::string> words = {
      "model.type=causal_lm",
      "model.llm={path: " + quoted(args.init_ckpt) + "}",
      "model.tokenizer={name: hf, path: " + quoted(args.init_ckpt) + "}",
      "data.train_ds={name: text, path: " + quoted(args.data_path) +
          ", format: text, labels: all, packing: none, shuffle: true}",
      number("data.train_ds.max_seq_len", args.max_seq_len),
      number("trainer.max_steps", args.train_steps),
      number("trainer.log_every_n_steps", args.log_steps),
      strategy_of(args),
      "exp_manager.explicit_log_dir=" + quoted(args.output_dir),
      number("exp_manager.checkpoint_callback_params.every_n_train_steps", args.save_steps)};
  if (args.deepspeed_config.empty()) words.emplace_back("data.train_ds.batch_size=1");
  if (args.seed) words.push_back(number("trainer.seed", *args.seed));
  words.insert(words.end(), args.overrides.begin(), args.overrides.end());
  return words;
}

/// The configuration as the words make it, and what needs a validation set.
Config config_of(const DeepSpeedArgs& args, std::vector<std::string>& words) {
  Config config = Config::map();
  apply_overrides(config, words);
  if (args.eval_steps && config.find_path("data.validation_ds") != nullptr) {
    words.push_back("trainer.val_check_interval=" + std::to_string(*args.eval_steps));
    apply_overrides(config, {words.back()});
  }
  return config;
}

std::vector<std::string> remarks_of(const DeepSpeedArgs& args, const Config& config) {
  std::vector<std::string> out;
  if (args.use_flash_attn == "true") {
    out.emplace_back("--use_flash_attn: LibTorch's attention always uses the fastest kernel");
  }
  if (args.use_fused_ops == "true") {
    out.emplace_back("--use_fused_ops: fused operations are used where a device has them");
  }
  if (args.pipe_parallel_size > 1) {
    out.push_back("--pipe_parallel_size " + std::to_string(args.pipe_parallel_size) +
                  ": there are no pipeline stages; the ranks shard the parameters (zero_stage: 3) "
                  "and read different data");
  }
  if (args.eval_steps && config.find_path("trainer.val_check_interval") == nullptr) {
    out.emplace_back(
        "--eval_steps: no validation set is given; add data.validation_ds.datasets.dev.path=FILE");
  }
  return out;
}

void print(const Config& config, const std::vector<std::string>& remarks) {
  for (const std::string& remark : remarks) std::printf("# %s\n", remark.c_str());
  std::printf("%s", write_yaml(config).c_str());
  std::fflush(stdout);
}

/// Errors: [model/no-text-model].
void require_text_model(const Config& config, const Invocation& invocation) {
  if (config.find_path("model.type")->text() != "causal_lm") return;
  const PluginHost host(process_search_inputs(invocation.plugin_paths));
  for (const auto& [id, file] : host.scan().owners) {
    if (id.kind == "model" && id.name == "causal_lm") return;
  }
  throw Error(ExitCode::kPlugin, "model/no-text-model",
              "no plugin provides model:causal_lm, which trains a language model on text\n  "
              "expected:  a plugin with model:causal_lm on the search path\n  next:      "
              "s2s-run plugin list --kind model; the configuration of this command line: s2s-run "
              "deepspeed-args --dry-run ...");
}

int train_by_args(const DeepSpeedArgs& args, const Invocation& invocation) {
  std::vector<std::string> words = words_of(args);
  const Config config = config_of(args, words);
  if (read_launch_environment().rank == 0) print(config, remarks_of(args, config));
  if (args.is_dry_run) return 0;
  require_text_model(config, invocation);
  // The words are the whole configuration: the file, standard input, is empty.
  const int empty = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (empty >= 0) ::dup2(empty, STDIN_FILENO);
  Run setup({"-", words}, RunPurpose::kTrain, invocation);
  return static_cast<int>(run_training(setup));
}

void add_sizes(const Command& command, DeepSpeedArgs& args) {
  command.option("--max_seq_len", args.max_seq_len, "longest text, in tokens")
      .between(1, 1 << 30)
      .shows_default();
  command.option("--train_steps", args.train_steps, "optimizer steps of the run")
      .between(1, 1 << 30)
      .shows_default();
  command.option("--eval_steps", args.eval_steps, "steps between validations").between(1, 1 << 30);
  command.option("--save_steps", args.save_steps, "steps between checkpoints")
      .between(1, 1 << 30)
      .shows_default();
  command.option("--log_steps", args.log_steps, "steps between lines of the log")
      .between(1, 1 << 30)
      .shows_default();
  command
      .option("--pipe_parallel_size", args.pipe_parallel_size,
              "above 1: the parameters are sharded over all ranks")
      .between(1, 1 << 20)
      .shows_default();
  command.option("--model_parallel_size", args.model_parallel_size, "ranks that split each layer")
      .between(1, 1 << 20)
      .shows_default();
}

}  // namespace

void setup_deepspeed_args(const Command& program) {
  const Command command = program.command(
      "deepspeed-args", "train a language model with the options of FMEngine's train.py");
  DeepSpeedArgs& args = command.runs(train_by_args);
  command.option("--output_dir", args.output_dir, "run folder").shows_default();
  command.option("--init_ckpt", args.init_ckpt, "Hugging Face folder of the model").required();
  command.option("--data_path", args.data_path, "texts, a JSON object on each line").required();
  add_sizes(command, args);
  command.option("--use_flash_attn", args.use_flash_attn, "accepted; kernels are chosen")
      .one_of({"true", "false"});
  command.option("--use_fused_ops", args.use_fused_ops, "accepted; kernels are chosen")
      .one_of({"true", "false"});
  command.option("--deepspeed_config", args.deepspeed_config, "DeepSpeed file");
  command.option("--seed", args.seed, "random seed");
  command.option("--local_rank", args.local_rank, "accepted; the launcher's variables count");
  command.flag("--dry-run", args.is_dry_run, "only print the configuration");
  command.option("overrides", args.overrides, "more keys: key.path=value");
}

}  // namespace s2s::run
