#include "s2s_run/checkpoint/checkpoint_arguments.h"

#include <filesystem>
#include <utility>

#include "config/yaml_writer.h"
#include "train/train_errors.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

}  // namespace

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
  // The file says where its run lay, which may be anywhere: it is not the user's own word.
  YamlStyle style;
  style.resolved = true;
  const std::string value = write_yaml_inline(Config::scalar(run.string(), true), style);
  words.insert(words.begin(), "exp_manager.explicit_log_dir=" + value);
  arguments.path = (fs::path(checkpoint) / "config.yaml").string();
}

}  // namespace s2s::run
