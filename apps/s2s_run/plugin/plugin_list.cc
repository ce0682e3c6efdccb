// s2s-run plugin list: lists the components of all plugins on the search path, without loading
// them.

#include <cstdio>

#include "plugin/plugin_errors.h"
#include "plugin/plugin_json.h"
#include "s2s/foreign_text.h"
#include "s2s_run/columns.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

namespace {

struct ListArguments {
  std::string kind, config;
};

void check_kind(const std::string& kind) {
  const std::vector<std::string> kinds = kind_names();
  if (!kind.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    throw unknown_kind_error(kind);
  }
}

/// One component of one file: a line of `plugin list`.
struct Row {
  ComponentId id;
  const PluginFile* file;
  std::string state;
};

std::string state_of(const PluginScan& scan, const ComponentId& id, const PluginFile& file) {
  const bool serves = scan.files[scan.owners.at(id)].path == file.path;
  if (file.state == PluginState::kFound && !serves) return state_name(PluginState::kShadowed);
  return state_name(file.state);
}

std::vector<Row> rows_of(const PluginScan& scan, const std::string& kind) {
  std::vector<Row> rows;
  for (const PluginFile& file : scan.files) {
    for (const ComponentId& id : file.provides) {
      if (kind.empty() || id.kind == kind) rows.push_back({id, &file, state_of(scan, id, file)});
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.id < b.id; });
  return rows;
}

void print_text(const PluginScan& scan, const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> table = {
      {"KIND", "NAME", "STATE", "PLUGIN", "VERSION", "FILE"}};
  for (const Row& row : rows) {
    table.push_back({row.id.kind, row.id.name, row.state, row.file->facts.name,
                     row.file->facts.version, short_path(row.file->path)});
  }
  print_columns(table);
  for (const Shadowing& s : scan.shadowed) {
    std::printf("shadowed: %s of %s, by %s\n", s.id.text().c_str(), short_path(s.loser).c_str(),
                short_path(s.winner).c_str());
  }
  for (const PluginFile& file : scan.files) {
    if (file.problem)
      std::printf("%s: %s\n", state_name(file.state), printable(file.problem->what()).c_str());
  }
}

void print_json(const PluginScan& scan, const std::vector<Row>& rows) {
  nlohmann::ordered_json json;
  json["components"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    json["components"].push_back({{"kind", row.id.kind},
                                  {"name", row.id.name},
                                  {"state", row.state},
                                  {"plugin", row.file->facts.name},
                                  {"version", row.file->facts.version},
                                  {"file", row.file->path}});
  }
  json["files"] = nlohmann::ordered_json::array();
  for (const PluginFile& file : scan.files) json["files"].push_back(plugin_json(file));
  json["shadowed"] = nlohmann::ordered_json::array();
  for (const Shadowing& s : scan.shadowed) {
    json["shadowed"].push_back({{"id", s.id.text()}, {"winner", s.winner}, {"loser", s.loser}});
  }
  std::printf("%s\n", json.dump(2).c_str());
}

int list(const ListArguments& arguments, const Invocation& invocation) {
  const SearchInputs inputs = invocation.search(invocation, arguments.config);
  check_kind(arguments.kind);
  const PluginScan scan = scan_plugins(resolve_search_path(inputs));
  const std::vector<Row> rows = rows_of(scan, arguments.kind);
  if (invocation.json) {
    print_json(scan, rows);
  } else {
    print_text(scan, rows);
  }
  scan.duplicates.throw_if_any();
  return 0;
}

}  // namespace

void setup_plugin_list(const Command& group) {
  const Command command = group.command("list", "list all plugins on the search path");
  ListArguments& arguments = command.runs(list);
  command.option("--kind", arguments.kind, "list only this kind: llm, encoder, codec, ...");
  add_config_option(command, arguments.config);
  command.json("print JSON");
}

}  // namespace s2s::run
