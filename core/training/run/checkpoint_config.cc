#include "run/checkpoint_config.h"

#include <fmt/format.h>

#include <filesystem>

#include "checkpoint/checkpoint_copies.h"
#include "config/distrusted_files.h"
#include "config/interpolation.h"
#include "config/load_config.h"
#include "config/yaml_writer.h"
#include "s2s/foreign_text.h"
#include "weights/checkpoint_index.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

bool is_same_folder(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

std::string drop_plugins(Config& config, const std::string& file) {
  const Config* const plugins = config.find("plugins");
  if (plugins == nullptr) return "";
  const std::string text = plugins->is_null() ? "" : write_yaml_inline(*plugins);
  config.erase("plugins");
  if (text.empty()) return "";
  return fmt::format(
      "{}: the block 'plugins' of a checkpoint's configuration is ignored: {}; give --plugin-path "
      "DIR for plugins that you trust",
      file, printable(text));
}

/// An interpolation instead of the block could bring the key back, but runs store none there.
std::string drop_permission(Config& config, const std::string& file) {
  Config* const data = config.find("data");
  if (data == nullptr) return "";
  if (data->is_scalar()) {
    config.erase("data");
    return fmt::format(
        "{}: 'data' of a checkpoint's configuration is not a block and is ignored; give its keys "
        "on the command line (data.KEY=...)",
        file);
  }
  const Config* const allowed = data->find("allow_commands");
  const bool is_said = allowed != nullptr && allowed->is_scalar() && allowed->text() != "false";
  data->erase("allow_commands");
  if (!is_said) return "";
  return fmt::format(
      "{}: 'data.allow_commands' of a checkpoint's configuration is ignored; give "
      "data.allow_commands=true to run the commands of its data",
      file);
}

/// Replaces paths by the checkpoint's own copies, as plain text, before interpolations are
/// resolved.
Config with_copies_before_interpolation(Config config, const std::string& checkpoint) {
  const char* const key = "model.llm.path";
  const Config copied = with_checkpoint_copies(config, checkpoint);
  const Config* const before = config.find_path(key);
  const Config* const path = copied.find_path(key);
  if (path == nullptr || before->text() == path->text()) return config;
  Config copy = *path;
  escape_interpolations(copy);
  config["model"]["llm"]["path"] = std::move(copy);
  return config;
}

/// Returns true for a file in `checkpoint` (a folder, or ""), and for a file next to the weights or
/// the index of any checkpoint.
bool is_of_checkpoint(const std::string& file, const std::string& checkpoint) {
  const fs::path parent = fs::path(file).parent_path();
  const fs::path folder = parent.empty() ? "." : parent;
  if (!checkpoint.empty() && is_same_folder(folder, checkpoint)) return true;
  std::error_code ignored;
  for (const char* name : {CheckpointIndex::kFile, "state.json", "model.safetensors"}) {
    if (fs::exists(folder / name, ignored)) return true;
  }
  return false;
}

}  // namespace

Config load_config_safely(const std::string& file, const std::string& checkpoint,
                          DroppedParts* dropped) {
  Config config = load_config(file);
  *dropped = {};
  if (!is_of_checkpoint(file, checkpoint)) return config;
  dropped->plugins = drop_plugins(config, file);
  dropped->commands = drop_permission(config, file);
  distrust_file(file);
  return config;
}

Error with_dropped_plugins(const Error& error, const std::string& dropped) {
  if (dropped.empty() || error.id() != "plugin/unknown") return error;
  return Error(error.exit_code(), error.id(), error.message() + "\n  note:      " + dropped);
}

Config language_model_config(Config config, const std::string& checkpoint) {
  config = with_copies_before_interpolation(std::move(config), checkpoint);
  Findings findings;
  Config model = Config::map();
  for (const char* part : {"llm", "lora"}) {
    const std::string path = std::string("model.") + part;
    if (config.find_path(path) == nullptr) continue;
    resolve_interpolations_at(config, {"model", part}, findings);
    model[part] = *config.find_path(path);
  }
  findings.throw_if_any();
  escape_interpolations(model);  // unresolved interpolations become plain text
  Config reduced = Config::map();
  reduced.set_origin(config.origin());
  reduced["model"] = std::move(model);
  return reduced;
}

}  // namespace s2s::run
