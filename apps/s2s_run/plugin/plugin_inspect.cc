// s2s-run plugin inspect NAME|FILE: loads a plugin and prints its note and the options of its
// components.

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "plugin/plugin_errors.h"
#include "plugin/plugin_host.h"
#include "plugin/plugin_json.h"
#include "plugin/plugin_loader.h"
#include "s2s_run/columns.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

namespace {

using Json = nlohmann::ordered_json;

struct InspectArguments {
  std::string name, config;
};

bool names_file(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".so");
}

/// The files that `name` refers to: a component's name, "kind:name", or a plugin's name.
std::vector<PluginFile> find_plugins(const PluginScan& scan, const std::string& name) {
  std::vector<PluginFile> found;
  std::set<std::string> known;
  for (size_t i = 0; i < scan.files.size(); ++i) {
    const PluginFile& file = scan.files[i];
    bool wanted = file.facts.name == name;
    if (!file.facts.name.empty()) known.insert(file.facts.name);
    for (const ComponentId& id : file.provides) {
      known.insert(id.name);
      wanted |= (id.name == name || id.text() == name) && scan.owners.at(id) == i;
    }
    if (wanted) found.push_back(file);
  }
  if (found.empty()) throw unknown_plugin_error(name, {known.begin(), known.end()});
  return found;
}

const char* status_text(Status status) {
  switch (status) {
    case Status::kStable:
      return "stable";
    case Status::kAlpha:
      return "alpha";
    case Status::kWorkInProgress:
      return "wip";
  }
  return "";
}

Json option_json(const OptionRow& row) {
  Json json = {{"name", row.name}, {"type", row.type}, {"default", row.value}, {"doc", row.doc}};
  if (std::isfinite(row.bounds.min)) json["min"] = row.bounds.min;
  if (std::isfinite(row.bounds.max)) json["max"] = row.bounds.max;
  if (row.bounds.is_program) json["program"] = true;
  if (!row.bounds.choices.empty()) json["choices"] = row.bounds.choices;
  return json;
}

Json weights_json(const std::vector<PublishedWeights>& weights) {
  Json list = Json::array();
  for (const PublishedWeights& row : weights) {
    list.push_back({{"name", row.name}, {"license", row.license}});
  }
  return list;
}

Json components_json(const Registries& registries) {
  Json list = Json::array();
  for_each_kind([&]<class T>() {
    for (const auto& [name, component] : registries.of<T>().entries()) {
      Json options = Json::array();
      if (component.options != nullptr) {
        for (const OptionRow& row : component.options()) options.push_back(option_json(row));
      }
      list.push_back({{"kind", KindName<T>::value},
                      {"name", name},
                      {"status", status_text(component.status)},
                      {"summary", component.summary},
                      {"weights", weights_json(component.weights)},
                      {"options", options}});
    }
  });
  return list;
}

std::string number_text(const Json& number) {
  const double value = number.get<double>();
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return whole ? std::to_string(static_cast<int64_t>(value)) : number.dump();
}

std::string bounds_text(const Json& option) {
  std::string text;
  if (option.contains("choices")) {
    for (const Json& choice : option["choices"]) {
      text += (text.empty() ? "" : " | ") + choice.get<std::string>();
    }
    return text;
  }
  if (option.contains("min") && option.contains("max")) {
    return number_text(option["min"]) + " to " + number_text(option["max"]);
  }
  if (option.contains("min")) return "at least " + number_text(option["min"]);
  if (option.contains("max")) return "at most " + number_text(option["max"]);
  return option.contains("program") ? "a program" : "";
}

void print_weights(const Json& all) {
  std::vector<std::vector<std::string>> rows;
  if (!all.empty()) rows.push_back({"  PUBLISHED WEIGHTS", "LICENSE"});
  for (const Json& weights : all) {
    const auto license = weights["license"].get<std::string>();
    rows.push_back(
        {"  " + weights["name"].get<std::string>(), license.empty() ? "see the folder" : license});
  }
  print_columns(rows);
}

void print_component(const Json& component) {
  std::printf("%s:%s  %s  %s\n", component["kind"].get<std::string>().c_str(),
              component["name"].get<std::string>().c_str(),
              component["status"].get<std::string>().c_str(),
              component["summary"].get<std::string>().c_str());
  std::vector<std::vector<std::string>> rows;
  if (!component["options"].empty())
    rows.push_back({"  OPTION", "TYPE", "DEFAULT", "BOUNDS", "DOC"});
  for (const Json& option : component["options"]) {
    rows.push_back({"  " + option["name"].get<std::string>(), option["type"], option["default"],
                    bounds_text(option), option["doc"]});
  }
  if (rows.empty()) rows.push_back({"  no options"});
  print_columns(rows);
  print_weights(component["weights"]);
}

void print_plugin(const Json& plugin, const PluginFile& file) {
  const PluginFacts& facts = file.facts;
  std::vector<std::vector<std::string>> rows = {
      {"plugin", facts.name + " " + facts.version + ", " + facts.license},
      {"file", short_path(file.path)},
      {"sha1", plugin["sha1"]},
      {"abi", abi_text(facts)},
      {"built",
       facts.compiler + ", " + facts.build + (facts.cuda.empty() ? "" : ", CUDA " + facts.cuda)}};
  if (!facts.origin.empty()) rows.push_back({"origin", facts.origin});
  print_columns(rows);
  for (const Json& component : plugin["components"]) print_component(component);
}

int inspect(const InspectArguments& arguments, const Invocation& invocation) {
  const SearchInputs inputs = invocation.search(invocation, arguments.config);
  std::vector<PluginFile> files;
  if (names_file(arguments.name)) {
    files.push_back(read_plugin_file(arguments.name));
  } else {
    const PluginHost host(inputs);
    files = find_plugins(host.scan(), arguments.name);
  }
  Json all = Json::array();
  for (const PluginFile& file : files) {
    Registries registries;
    run_registration(open_plugin(file), file, registries);
    check_provides(file, registries);
    Json json = plugin_json(file);
    json["sha1"] = file_sha1(file.path);
    json["components"] = components_json(registries);
    if (!invocation.json) print_plugin(json, file);
    all.push_back(std::move(json));
  }
  if (invocation.json) std::printf("%s\n", all.dump(2).c_str());
  return 0;
}

}  // namespace

void setup_plugin_inspect(const Command& group) {
  const Command command =
      group.command("inspect", "print a plugin's note and the options of its components");
  InspectArguments& arguments = command.runs(inspect);
  command.option("name", arguments.name, "component as kind:name, plugin name, or .so file")
      .required();
  add_config_option(command, arguments.config);
  command.json("print JSON");
}

}  // namespace s2s::run
