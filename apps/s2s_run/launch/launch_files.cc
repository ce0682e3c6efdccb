// s2s-run launch deepspeed, fsdp and launcher: write a file that configures DeepSpeed or FSDP, and
// a script that starts a run. The flags are those of distributed_setup.py in LLM recipes.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/foreign_json.h"
#include "launch/engine_configs.h"
#include "launch/shell_words.h"
#include "s2s/error.h"
#include "s2s_run/launch/launch_commands.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

Error exists_error(const std::string& file) {
  return {ExitCode::kUsage, "launch/output",
          file +
              " exists, and s2s-run launch did not write it as it is now\n  next:      give "
              "another -o FILE, or --force to overwrite it"};
}

/// The text of a small file, or "".
std::string text_of(const std::string& file) {
  constexpr size_t kMostBytes = size_t{1} << 20;
  std::ifstream in(file, std::ios::binary);
  std::string text(kMostBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(kMostBytes));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(0, in.gcount())));
  return text;
}

/// Scripts say in their second line who wrote them. Files of an engine have no comments: those that
/// `launch` writes are known by having its values and nothing else.
bool is_written_by_launch(const std::string& file) {
  if (!fs::is_regular_file(file)) return false;
  const std::string text = text_of(file);
  const size_t second = text.find('\n') + 1;
  if (text.starts_with("#!") && text.compare(second, 21, "# Written by: s2s-run") == 0) return true;
  const auto json = try_parse_foreign_json<nlohmann::ordered_json>(text);
  if (!json.is_object()) return false;
  return json == launch::deepspeed_file(launch::deepspeed_values(json)) ||
         json == launch::fsdp_file(launch::fsdp_values(json));
}

Error write_error(const std::string& file) {
  return {ExitCode::kData, "io/write", file + " cannot be written; check the folder and its space"};
}

Error both_error(const std::string& command, const std::string& flags) {
  return {ExitCode::kUsage, "usage/arguments",
          "s2s-run launch " + command + ": " + flags +
              " exclude each other\n  see:       s2s-run " + "launch " + command + " --help"};
}

struct DeepSpeedArguments {
  launch::DeepSpeedFile values;
  std::string file = "config/ds_config.json";
  bool overwrites = false;
};

int write_deepspeed(DeepSpeedArguments arguments, const Invocation&) {
  if (arguments.values.is_bf16 && arguments.values.is_fp16) {
    throw both_error("deepspeed", "--bf16 and --fp16");
  }
  const std::string& file = arguments.file;
  write_launch_file(file, launch::deepspeed_file(arguments.values).dump(2) + "\n",
                    arguments.overwrites);
  if (file != "-") {
    std::printf("wrote %s; use it: trainer.strategy: {name: deepspeed, config: %s}\n", file.c_str(),
                file.c_str());
  }
  return 0;
}

struct FsdpArguments {
  launch::FsdpFile values;
  std::string file = "config/fsdp_config.json";
  bool overwrites = false;
};

int write_fsdp(FsdpArguments arguments, const Invocation&) {
  const std::string& file = arguments.file;
  write_launch_file(file, launch::fsdp_file(arguments.values).dump(2) + "\n", arguments.overwrites);
  if (file != "-") {
    std::printf("wrote %s; use it: trainer.strategy: {name: fsdp, config: %s}\n", file.c_str(),
                file.c_str());
  }
  return 0;
}

struct LauncherArguments {
  launch::LauncherScript script;
  ConfigWords config;
  std::string file = "scripts/run_training.sh";
  bool overwrites = false;
};

int write_launcher(LauncherArguments arguments, const Invocation& invocation) {
  launch::LauncherScript& script = arguments.script;
  if (script.node >= script.num_nodes) {
    throw Error(ExitCode::kUsage, "usage/arguments",
                "s2s-run launch launcher: --node_rank " + std::to_string(script.node) +
                    " of --num_nodes " + std::to_string(script.num_nodes) +
                    "; expected a number from 0 to " + std::to_string(script.num_nodes - 1));
  }
  script.words = words_of_config("launcher", arguments.config);
  script.written_by = own_command_line();
  add_plugin_paths(script.words, invocation);
  const std::string& file = arguments.file;
  write_launch_file(file, launch::launcher_script(script), arguments.overwrites);
  if (file == "-") return 0;
  fs::permissions(file, fs::perms::owner_exec | fs::perms::group_exec, fs::perm_options::add);
  std::printf("wrote %s; start it%s: bash %s\n", file.c_str(),
              script.num_nodes > 1 ? " on each machine" : "", launch::shell_word(file).c_str());
  return 0;
}

}  // namespace

std::string own_command_line() {
  std::ifstream in("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  if (!words.empty()) words.front() = "s2s-run";
  return launch::shell_words(words);
}

void write_launch_file(const std::string& file, const std::string& text, bool overwrites) {
  if (file == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  if (!overwrites && fs::exists(file) && !is_written_by_launch(file)) throw exists_error(file);
  std::error_code failed;
  const fs::path folder = fs::path(file).parent_path();
  if (!folder.empty()) fs::create_directories(folder, failed);
  std::ofstream out(file);
  out << text;
  if (failed || !out.flush()) throw write_error(file);
}

Argument add_config_words(const Command& command, ConfigWords& words) {
  const Argument config =
      command.option("--config", words.config, "configuration of the run, which is trained");
  command.flag("--use-deepspeed,--use_deepspeed", words.uses_deepspeed,
               "train with distributed.use_deepspeed=true");
  command.flag("--use-fsdp,--use_fsdp", words.uses_fsdp, "train with distributed.use_fsdp=true");
  return config;
}

std::vector<std::string> words_of_config(const std::string& command, const ConfigWords& words) {
  if (words.uses_deepspeed && words.uses_fsdp) {
    throw both_error(command, "--use_deepspeed and --use_fsdp");
  }
  std::vector<std::string> out = {"train", words.config};
  if (words.uses_deepspeed) out.emplace_back("distributed.use_deepspeed=true");
  if (words.uses_fsdp) out.emplace_back("distributed.use_fsdp=true");
  return out;
}

void setup_launch_deepspeed(const Command& group) {
  const Command command =
      group.command("deepspeed", "write a DeepSpeed file, which trainer.strategy reads");
  DeepSpeedArguments& arguments = command.runs(write_deepspeed);
  launch::DeepSpeedFile& values = arguments.values;
  command.option("--zero-stage,--zero_stage", values.stage, "stage of ZeRO")
      .between(0, 3)
      .shows_default();
  command.flag("--offload-optimizer,--offload_optimizer", values.offloads_optimizer,
               "hold the optimizer's state in host memory");
  command.flag("--offload-param,--offload_param", values.offloads_params,
               "hold the parameters in host memory");
  command.flag("--bf16", values.is_bf16, "train in bfloat16");
  command.flag("--fp16", values.is_fp16, "train in float16");
  command
      .option("--gradient-accumulation-steps,--gradient_accumulation_steps", values.accumulation,
              "micro-batches of a step; \"auto\" without it")
      .between(1, 1000000);
  command
      .option("--gradient-clipping,--gradient_clipping", values.clipping,
              "largest norm of the gradients; \"auto\" without it")
      .says_not_negative();
  command.option("-o,--output", arguments.file, "the file, or - for standard output")
      .shows_default();
  command.force(arguments.overwrites);
}

void setup_launch_fsdp(const Command& group) {
  const Command command =
      group.command("fsdp", "write a file of FSDP settings, which trainer.strategy reads");
  FsdpArguments& arguments = command.runs(write_fsdp);
  launch::FsdpFile& values = arguments.values;
  command.option("--sharding-strategy,--sharding_strategy", values.sharding, "what is sharded")
      .one_of({"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"})
      .shows_default();
  command
      .option("--mixed-precision,--mixed_precision", values.precision, "dtype of the computation")
      .one_of({"BFLOAT16", "FLOAT16", "NO"})
      .shows_default();
  command.flag("--offload-params,--offload_params", values.offloads_params,
               "hold the parameters in host memory");
  command.flag("--activation-checkpointing,--activation_checkpointing", values.recomputes,
               "recompute activations in the backward pass");
  command.option("-o,--output", arguments.file, "the file, or - for standard output")
      .shows_default();
  command.force(arguments.overwrites);
}

void setup_launch_launcher(const Command& group) {
  const Command command = group.command("launcher", "write a script that starts a run");
  LauncherArguments& arguments = command.runs(write_launcher);
  launch::LauncherScript& script = arguments.script;
  add_config_words(command, arguments.config).required();
  command.option("--num-nodes,--num_nodes", script.num_nodes, "number of machines")
      .between(1, 100000)
      .shows_default();
  command
      .option("-n,--num-ranks,--num-gpus-per-node,--num_gpus_per_node", script.num_ranks,
              "ranks on each machine, one for each GPU")
      .between(1, 1024)
      .shows_default();
  command.option("--master-addr,--master_addr", script.master_addr, "host of machine 0")
      .shows_default();
  command.option("--master-port,--master_port", script.master_port, "port where the ranks meet")
      .between(1, 65535)
      .shows_default();
  command
      .option("--node-rank,--node_rank", script.node,
              "number of this machine, from 0; the variable NODE_RANK overrides it")
      .between(0, 99999)
      .shows_default();
  command.option("--program", script.program, "path of s2s-run on the machines").shows_default();
  command.option("-o,--output", arguments.file, "the script, or - for standard output")
      .shows_default();
  command.force(arguments.overwrites);
}

}  // namespace s2s::run
