// s2s-run plugin path: the folders that are searched, in order, and where each comes from.

#include <CLI/CLI.hpp>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "plugin/plugin_host.h"
#include "s2s_run/columns.h"
#include "s2s_run/plugin.h"

namespace s2s::run {

namespace {

size_t count_files(const PluginScan& scan, const std::string& directory) {
  return static_cast<size_t>(
      std::count_if(scan.files.begin(), scan.files.end(), [&](const PluginFile& file) {
        return std::filesystem::path(file.path).parent_path() == std::filesystem::path(directory);
      }));
}

void print_json(const PluginHost& host) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const SearchDirectory& directory : host.search().directories) {
    json.push_back({{"path", directory.path},
                    {"origin", directory.origin},
                    {"exists", directory.exists},
                    {"files", count_files(host.scan(), directory.path)}});
  }
  std::printf("%s\n", json.dump(2).c_str());
}

void print_text(const PluginHost& host) {
  std::printf("searched in this order; the first folder that provides a name serves it:\n");
  std::vector<std::vector<std::string>> rows;
  for (const SearchDirectory& directory : host.search().directories) {
    const size_t count = count_files(host.scan(), directory.path);
    rows.push_back({std::to_string(rows.size() + 1), directory.origin,
                    directory.exists ? std::to_string(count) + " files" : "does not exist",
                    directory.path});
  }
  print_columns(rows);
  std::printf(
      "a config adds plugins.paths (folders) before the last one, and plugins.load (files) before "
      "all\n");
}

int path(const Invocation& invocation) {
  const PluginHost host(process_search_inputs(invocation.plugin_paths));
  if (invocation.json) {
    print_json(host);
  } else {
    print_text(host);
  }
  return 0;
}

}  // namespace

void setup_plugin_path(CLI::App& plugin, Invocation& invocation) {
  CLI::App* const command = plugin.add_subcommand("path", "the folders that are searched");
  command->add_flag("--json", invocation.json, "print JSON");
  command->callback(
      [&invocation] { invocation.selected = [&invocation] { return path(invocation); }; });
}

}  // namespace s2s::run
