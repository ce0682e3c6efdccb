#pragma once
// The search path for plugins.

#include <string>
#include <vector>

#include "plugin/plugins_options.h"

namespace s2s {

/// One folder of the search path.
struct SearchDirectory {
  std::string path;    // as written by the user, resolved against the right folder
  std::string origin;  // "--plugin-path", "S2S_PLUGIN_PATH", "plugins.paths", "next to s2s-run"
  bool exists = false;
};

/// The inputs of the search path.
struct SearchInputs {
  std::vector<std::string> command_line;  // --plugin-path
  std::string environment;                // S2S_PLUGIN_PATH, separated by colons
  PluginsOptions config;                  // the `plugins` block
  std::string config_dir = ".";           // the config file's folder
  std::string executable;                 // path of s2s-run
};

struct SearchPath {
  std::vector<SearchDirectory> directories;  // each folder once, at its first position
  std::vector<std::string> load;             // resolved files of plugins.load
};

/// Search order: command line, environment, config, and PREFIX/lib/s2s/plugins when the executable
/// is PREFIX/bin/s2s-run. Folders of the environment need not exist.
/// Errors: [plugin/directory] when a folder of the command line or config cannot be searched;
/// [plugin/file] when a file of plugins.load is not found; [untrusted/refused] with --untrusted for
/// all but the last.
SearchPath resolve_search_path(const SearchInputs& inputs);

/// Returns the inputs of this process, without a config.
SearchInputs process_search_inputs(std::vector<std::string> command_line);

/// Also uses the `plugins` block of `root`, a whole config whose file is in `config_dir`.
/// Errors: those of reading options.
SearchInputs process_search_inputs(std::vector<std::string> command_line, const Config& root,
                                   const std::string& config_dir);

/// Whether a plugin lies in the folder next to the running program.
bool is_own_plugin(const std::string& file);

/// Returns the absolute path of the running program.
std::string this_executable();

}  // namespace s2s
