#pragma once
// Where plugins are looked for, in order.

#include <string>
#include <vector>

#include "plugin/plugins_options.h"

namespace s2s {

/// One folder of the search path.
struct SearchDirectory {
  std::string path;    // as the user wrote it, made relative to the right folder
  std::string origin;  // "--plugin-path", "S2S_PLUGIN_PATH", "plugins.paths", "next to s2s-run"
  bool exists = false;
};

/// Everything the search path depends on.
struct SearchInputs {
  std::vector<std::string> command_line;  // --plugin-path
  std::string environment;                // S2S_PLUGIN_PATH, separated by colons
  PluginsOptions config;                  // the `plugins` block
  std::string config_dir = ".";           // the config file's folder
  std::string executable;                 // path of s2s-run
};

struct SearchPath {
  std::vector<SearchDirectory> directories;  // each folder once, the first mention wins
  std::vector<std::string> load;             // files of plugins.load, found
};

/// Search order: command line, environment, config, PREFIX/lib/s2s/plugins where the executable is
/// PREFIX/bin/s2s-run. Folders of the environment need not exist.
/// Errors: [plugin/directory] for a folder of the command line or config that cannot be searched;
/// [plugin/file] for a file of plugins.load that is nowhere.
SearchPath resolve_search_path(const SearchInputs& inputs);

/// The inputs of this process, without a config.
SearchInputs process_search_inputs(std::vector<std::string> command_line);

/// The same with the `plugins` block of `root`, a whole config whose file stands in `config_dir`.
/// Errors: those of reading options.
SearchInputs process_search_inputs(std::vector<std::string> command_line, const Config& root,
                                   const std::string& config_dir);

/// Absolute path of the running program.
std::string this_executable();

}  // namespace s2s
