#include "plugin/search_path.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/untrusted.h"
#include "plugin/plugin_errors.h"

namespace s2s {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> split_colons(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ':');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

class Collector {
 public:
  void add(const std::string& path, const char* origin, bool must_exist) {
    std::error_code error;
    const bool is_folder = fs::is_directory(path, error);
    if (must_exist && !is_folder) {
      const bool there = fs::exists(path, error);
      throw directory_error(path, origin, there ? "it is a file" : "it does not exist");
    }
    const std::string identity = fs::weakly_canonical(path, error).string();
    if (seen_.insert(identity).second) directories.push_back({path, origin, is_folder});
  }
  std::vector<SearchDirectory> directories;

 private:
  std::set<std::string> seen_;
};

std::string relative_to(const std::string& folder, const std::string& path) {
  return (fs::path(folder) / path).lexically_normal().string();
}

std::string find_file(const std::string& name, const SearchInputs& inputs,
                      const std::vector<SearchDirectory>& directories) {
  std::vector<std::string> tried = {relative_to(inputs.config_dir, name)};
  if (!fs::path(name).is_absolute()) {
    for (const SearchDirectory& d : directories) tried.push_back(relative_to(d.path, name));
  }
  for (const std::string& candidate : tried) {
    std::error_code error;
    if (fs::exists(candidate, error)) return candidate;
  }
  throw file_error(name, tried);
}

/// Plugins are code: with --untrusted, only those of the program itself are loaded.
void require_own_plugins(const SearchInputs& inputs) {
  const auto refuse = [](const std::string& place, const std::string& value) {
    throw untrusted_error("plugins beside the program's own: " + place + " '" + value + "'",
                          "leave it out (unset S2S_PLUGIN_PATH), or leave --untrusted out if you "
                          "trust whoever made these plugins");
  };
  if (!inputs.command_line.empty()) refuse("--plugin-path", inputs.command_line.front());
  if (!inputs.environment.empty()) refuse("S2S_PLUGIN_PATH", inputs.environment);
  if (!inputs.config.paths.empty()) refuse("plugins.paths", inputs.config.paths.front());
  if (!inputs.config.load.empty()) refuse("plugins.load", inputs.config.load.front());
}

}  // namespace

SearchPath resolve_search_path(const SearchInputs& inputs) {
  if (is_untrusted()) require_own_plugins(inputs);
  Collector collector;
  for (const std::string& path : inputs.command_line) collector.add(path, "--plugin-path", true);
  for (const std::string& path : split_colons(inputs.environment)) {
    collector.add(path, "S2S_PLUGIN_PATH", false);
  }
  for (const std::string& path : inputs.config.paths) {
    collector.add(relative_to(inputs.config_dir, path), "plugins.paths", true);
  }
  const fs::path prefix = fs::path(inputs.executable).parent_path().parent_path();
  collector.add((prefix / "lib/s2s/plugins").string(), "next to s2s-run", false);
  SearchPath result{std::move(collector.directories), {}};
  for (const std::string& name : inputs.config.load) {
    result.load.push_back(find_file(name, inputs, result.directories));
  }
  return result;
}

SearchInputs process_search_inputs(std::vector<std::string> command_line) {
  SearchInputs inputs;
  inputs.command_line = std::move(command_line);
  if (const char* value = std::getenv("S2S_PLUGIN_PATH")) inputs.environment = value;
  inputs.executable = this_executable();
  return inputs;
}

bool is_own_plugin(const std::string& file) {
  std::error_code error;
  const fs::path prefix = fs::path(this_executable()).parent_path().parent_path();
  const fs::path own = fs::weakly_canonical(prefix / "lib/s2s/plugins", error);
  return !error && fs::weakly_canonical(file, error).parent_path() == own && !error;
}

std::string this_executable() { return fs::read_symlink("/proc/self/exe").string(); }

}  // namespace s2s
