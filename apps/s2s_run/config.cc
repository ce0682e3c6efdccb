// s2s-run config show|check CONFIG [key=value...]: the effective config with the origin of every
// value, and every finding about it. Nothing is built.

#include "s2s_run/config.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "config/config_json.h"
#include "config/interpolation.h"
#include "config/load_config.h"
#include "config/run_check.h"
#include "config/yaml_writer.h"
#include "plugin/component_id.h"
#include "plugin/plugin_host.h"
#include "plugin/plugins_options.h"
#include "s2s/duplex_data.h"
#include "s2s_run/data_synth.h"

namespace s2s::run {

namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string file;
  std::vector<std::string> overrides;
};

/// The table of `kind:name`, whose plugin is loaded on demand.
OptionTable component_table(const Registries& registries, const std::string& kind,
                            const std::string& name, const Config& name_node,
                            const std::string& name_path) {
  // The registry adds ".name" by itself.
  const std::string path =
      name_path.ends_with(".name") ? name_path.substr(0, name_path.size() - 5) : "";
  OptionTable table;
  for_each_kind([&]<class T>() {
    if (kind != KindName<T>::value) return;
    const Component<T>& component = registries.get<T>(name, name_node, path);
    if (component.options != nullptr) table = component.options();
  });
  return table;
}

/// A `plugins` block that cannot be read is the check's to report.
SearchInputs search_inputs(const Invocation& invocation, Config config, const std::string& file) {
  Findings reported_later;
  resolve_interpolations(config, reported_later);
  const std::string folder = std::filesystem::path(file).parent_path().string();
  try {
    return process_search_inputs(invocation.plugin_paths, config, folder.empty() ? "." : folder);
  } catch (const Error&) {
    return process_search_inputs(invocation.plugin_paths);
  }
}

RunCheck check(const Invocation& invocation, const Arguments& arguments) {
  Config config = load_config(arguments.file);
  apply_overrides(config, arguments.overrides);
  PluginHost host(search_inputs(invocation, config, arguments.file));
  Registries registries;
  host.install(registries);
  RunSchema schema;
  schema.blocks["plugins"] = list_options<PluginsOptions>();
  schema.blocks["data"] = list_options<DuplexDataOptions>();
  schema.blocks["data.synth"] = configured_set_options();
  schema.kinds = kind_names();
  schema.component = [&registries](const std::string& kind, const std::string& name,
                                   const Config& name_node, const std::string& name_path) {
    return component_table(registries, kind, name, name_node, name_path);
  };
  return check_run_config(config, schema);
}

Json findings_json(const RunCheck& checked) {
  Json json = Json::array();
  for (const Error& error : checked.findings.errors()) {
    json.push_back({{"id", error.id()}, {"message", error.message()}});
  }
  return json;
}

void print_findings(std::FILE* out, const RunCheck& checked) {
  for (const Error& error : checked.findings.errors()) {
    std::fprintf(out, "error: %s\n", error.what());
  }
}

int exit_code(const RunCheck& checked) {
  return static_cast<int>(checked.findings.empty() ? ExitCode::kOk : ExitCode::kConfig);
}

int run_check(const Invocation& invocation, const Arguments& arguments) {
  const RunCheck checked = check(invocation, arguments);
  if (invocation.json) {
    const Json json = {{"findings", findings_json(checked)}, {"notes", checked.notes}};
    std::printf("%s\n", json.dump(2).c_str());
    return exit_code(checked);
  }
  print_findings(stdout, checked);
  for (const std::string& note : checked.notes) std::printf("note: %s\n", note.c_str());
  if (checked.findings.empty()) std::printf("ok\n");
  return exit_code(checked);
}

int run_show(const Invocation& invocation, const Arguments& arguments) {
  const RunCheck checked = check(invocation, arguments);
  if (invocation.json) {
    const Json json = {{"config", config_json(checked.config)},
                       {"origins", origins_json(checked.config)},
                       {"findings", findings_json(checked)},
                       {"notes", checked.notes}};
    std::printf("%s\n", json.dump(2).c_str());
    return exit_code(checked);
  }
  YamlStyle style;
  style.show_origins = true;
  style.resolved = true;
  std::printf("%s", write_yaml(checked.config, style).c_str());
  for (const std::string& note : checked.notes) std::printf("# %s\n", note.c_str());
  print_findings(stderr, checked);
  return exit_code(checked);
}

void add_command(CLI::App& group, Invocation& invocation, const char* name, const char* doc,
                 int (*run)(const Invocation&, const Arguments&)) {
  CLI::App* const command = group.add_subcommand(name, doc);
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("config", arguments->file, "YAML file")->required();
  command->add_option("overrides", arguments->overrides,
                      "key=value, with a YAML value; ~key removes a key");
  command->add_flag("--json", invocation.json, "print JSON");
  command->callback([&invocation, arguments, run] {
    invocation.selected = [&invocation, arguments, run] { return run(invocation, *arguments); };
  });
}

}  // namespace

void setup_config(CLI::App& app, Invocation& invocation) {
  CLI::App& group = command_group(app, "config", "look at a configuration");
  add_command(group, invocation, "show", "the effective config, with the origin of every value",
              run_show);
  add_command(group, invocation, "check", "every finding, without building anything", run_check);
}

}  // namespace s2s::run
