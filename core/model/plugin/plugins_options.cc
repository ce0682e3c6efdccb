#include "plugin/plugins_options.h"

#include "plugin/search_path.h"

namespace s2s {

// Separate from search_path.cc, so that commands that read no config need not link this.
SearchInputs process_search_inputs(std::vector<std::string> command_line, const Config& root,
                                   const std::string& config_dir) {
  SearchInputs inputs = process_search_inputs(std::move(command_line));
  if (const Config* plugins = root.find("plugins"); plugins != nullptr && !plugins->is_null()) {
    inputs.config = read_options<PluginsOptions>(*plugins, "plugins");
  }
  inputs.config_dir = config_dir;
  return inputs;
}

}  // namespace s2s
