#include "s2s_run/config/config_arguments.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "config/interpolation.h"
#include "plugin/plugins_options.h"
#include "run/checkpoint_config.h"
#include "s2s/foreign_text.h"

namespace s2s::run {

void add_config_arguments(CLI::App& command, ConfigArguments& arguments) {
  add_config_arguments_of_checkpoint(command, arguments);
  command.get_option("config")->required()->description(
      "configuration file (YAML); -: standard input");
}

void add_config_arguments_of_checkpoint(CLI::App& command, ConfigArguments& arguments) {
  command.add_option("config", arguments.path,
                     "configuration file (YAML); default: the checkpoint's own. A folder is the "
                     "checkpoint");
  command.add_option("overrides", arguments.overrides,
                     "changes: key.path=value, values in YAML; ~key removes");
}

SearchInputs config_search_inputs(const std::vector<std::string>& plugin_paths,
                                  const std::string& config_path) {
  DroppedParts dropped;
  Config config = load_config_safely(config_path, "", &dropped);
  if (!dropped.plugins.empty()) {
    std::fprintf(stderr, "note: %s\n", printable(dropped.plugins).c_str());
  }
  Findings other_blocks;  // `config check` reports them
  resolve_interpolations(config, other_blocks);
  const std::string folder = std::filesystem::path(config_path).parent_path().string();
  return process_search_inputs(plugin_paths, config, folder.empty() ? "." : folder);
}

}  // namespace s2s::run
