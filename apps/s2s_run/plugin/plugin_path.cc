// s2s-run plugin path: prints the folders that are searched, in order, and the origin of each.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "plugin/plugin_scan.h"
#include "s2s_run/columns.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

namespace {

size_t count_files(const PluginScan& scan, const SearchDirectory& directory) {
  return static_cast<size_t>(
      std::count_if(scan.files.begin(), scan.files.end(),
                    [&](const PluginFile& file) { return file.place == directory.path; }));
}

void print_json(const SearchPath& search, const PluginScan& scan) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const SearchDirectory& directory : search.directories) {
    nlohmann::ordered_json row;
    row["path"] = directory.path;
    row["origin"] = directory.origin;
    row["exists"] = directory.exists;
    row["files"] = count_files(scan, directory);
    json.push_back(std::move(row));
  }
  std::printf("%s\n", json.dump(2).c_str());
}

void print_text(const SearchPath& search, const PluginScan& scan, bool has_config) {
  std::printf(
      "searched in this order; a component comes from the first folder that provides its name:\n");
  std::vector<std::vector<std::string>> rows;
  for (const SearchDirectory& directory : search.directories) {
    const size_t count = count_files(scan, directory);
    rows.push_back({std::to_string(rows.size() + 1), directory.origin,
                    directory.exists ? std::to_string(count) + (count == 1 ? " file" : " files")
                                     : "does not exist",
                    directory.path});
  }
  print_columns(rows);
  for (const std::string& file : search.load) {
    std::printf("loaded first: %s\n", file.c_str());
  }
  if (has_config) return;
  std::printf(
      "a configuration adds plugins.paths (folders) before the last folder and plugins.load "
      "(files) before all folders; --config FILE shows them\n");
}

int path(const std::string& config, const Invocation& invocation) {
  const SearchPath search = resolve_search_path(invocation.search(invocation, config));
  const PluginScan scan = scan_plugins(search);
  if (invocation.json) {
    print_json(search, scan);
  } else {
    print_text(search, scan, !config.empty());
  }
  return 0;
}

}  // namespace

void setup_plugin_path(const Command& group) {
  const Command command = group.command("path", "print the folders that are searched for plugins");
  add_config_option(command, command.runs(path));
  command.json("print JSON");
}

}  // namespace s2s::run
