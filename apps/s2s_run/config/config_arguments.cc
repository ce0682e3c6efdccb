#include "s2s_run/config/config_arguments.h"

#include <cstdio>
#include <filesystem>
#include <utility>

#include "config/interpolation.h"
#include "config/yaml_writer.h"
#include "plugin/plugins_options.h"
#include "run/checkpoint_config.h"
#include "s2s/foreign_text.h"
#include "train/train_errors.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

}  // namespace

void add_config_arguments(const Command& command, ConfigArguments& arguments,
                          const char* overrides_doc) {
  command.option("config", arguments.path, "configuration file (YAML), or - for standard input")
      .required();
  command.option("overrides", arguments.overrides, overrides_doc);
}

void add_checkpoint_arguments(const Command& command, ConfigArguments& arguments,
                              std::string& checkpoint) {
  command.option("config", arguments.path,
                 "configuration file (YAML), or a checkpoint folder; default: the checkpoint's own "
                 "configuration");
  command.option("overrides", arguments.overrides,
                 "overrides: key.path=value with a YAML value; ~key removes a key");
  command.option("--checkpoint", checkpoint, kCheckpointDoc);
}

void take_checkpoint(ConfigArguments& arguments, std::string& checkpoint,
                     const std::string& command) {
  if (!checkpoint.empty()) return;
  std::error_code ignored;
  if (!fs::is_directory(arguments.path, ignored)) {
    throw Error(ExitCode::kUsage, "usage/arguments",
                command + ": --checkpoint is required\n  see:       " + command + " --help");
  }
  checkpoint = std::exchange(arguments.path, "");
}

void complete_config(ConfigArguments& arguments, const std::string& checkpoint) {
  const bool is_override =
      arguments.path.find('=') != std::string::npos && !fs::exists(arguments.path);
  if (!arguments.path.empty() && !is_override) return;
  if (!fs::is_directory(checkpoint)) throw_no_checkpoint(checkpoint, "no such folder");
  std::vector<std::string>& words = arguments.overrides;
  if (is_override) words.insert(words.begin(), arguments.path);
  const fs::path place = fs::absolute(checkpoint).lexically_normal();
  fs::path run = (place.has_filename() ? place : place.parent_path()).parent_path();
  if (run.filename() == "checkpoints") run = run.parent_path();
  // The path of the run in the file may be outdated: use the folder in which the checkpoint is now.
  YamlStyle style;
  style.resolved = true;
  const std::string value = write_yaml_inline(Config::scalar(run.string(), true), style);
  words.insert(words.begin(), "exp_manager.explicit_log_dir=" + value);
  arguments.path = (fs::path(checkpoint) / "config.yaml").string();
}

SearchInputs config_search_inputs(const Invocation& invocation, const std::string& config_path) {
  if (config_path.empty()) return process_search_inputs(invocation.plugin_paths);
  DroppedParts dropped;
  Config config = load_config_safely(config_path, "", &dropped);
  if (!dropped.plugins.empty()) {
    std::fprintf(stderr, "note: %s\n", printable(dropped.plugins).c_str());
  }
  Findings other_blocks;  // `config check` reports them
  resolve_interpolations(config, other_blocks);
  const std::string folder = fs::path(config_path).parent_path().string();
  return process_search_inputs(invocation.plugin_paths, config, folder.empty() ? "." : folder);
}

}  // namespace s2s::run
