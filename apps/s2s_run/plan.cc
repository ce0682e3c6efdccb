#include "s2s_run/plan.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "config/load_config.h"
#include "parallel/plan_check.h"
#include "parallel/plan_report.h"
#include "parallel/planned_model.h"
#include "plugin/plugin_host.h"
#include "s2s_run/described_model.h"

namespace s2s::run {
namespace {

struct Arguments {
  std::string config;
  std::vector<std::string> overrides;
  std::string mesh;
  int64_t world_size = 0;
  int64_t sequence_length = 0;
};

/// --mesh, else the sizes that trainer.strategy gives.
MeshShape choose_mesh(const Arguments& arguments, const Config& config) {
  MeshShape mesh;
  if (!arguments.mesh.empty()) mesh = parse_mesh(arguments.mesh);
  const auto node = [&](const char* key) {
    return config.find_path(std::string("trainer.strategy.") + key);
  };
  if (const Config* value = node("sequence_parallel")) {
    mesh.sequence_parallel = value->as_bool("trainer.strategy.sequence_parallel");
  }
  if (!arguments.mesh.empty()) return mesh;
  const auto size = [&](const char* key, int64_t& axis) {
    const Config* value = node(key);
    if (value != nullptr && value->is_scalar()) axis = value->as_int(key);
  };
  size("data_parallel_size", mesh.shard);
  size("tensor_parallel_size", mesh.tensor);
  return mesh;
}

int64_t bytes_per_number(const Config& config) {
  const Config* precision = config.find_path("trainer.precision");
  const bool is_half =
      precision != nullptr && precision->text().find("16-true") != std::string::npos;
  return is_half ? 2 : 4;
}

void print_findings(const Findings& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Error& error : findings.errors()) {
    list.push_back({{"id", error.id()}, {"message", error.message()}});
  }
  std::printf("%s\n", nlohmann::ordered_json{{"findings", std::move(list)}}.dump(2).c_str());
}

int plan(const Arguments& arguments, const Invocation& invocation) {
  const Config config = load_effective_config(arguments.config, arguments.overrides);
  std::string config_dir = std::filesystem::path(arguments.config).parent_path().string();
  if (config_dir.empty()) config_dir = ".";
  Registries registries;
  PluginHost host(process_search_inputs(invocation.plugin_paths, config, config_dir));
  host.install(registries);
  const DescribedModel model = describe_model(config, registries);

  PlanReportInputs inputs;
  inputs.mesh = choose_mesh(arguments, config);
  inputs.bytes_per_number = bytes_per_number(config);
  const ShardPlan shard_plan = model.plan(inputs.mesh);
  const Findings findings = check_plan(
      *model.block, shard_plan, {inputs.mesh, arguments.world_size, arguments.sequence_length});
  if (!findings.empty() && invocation.json) {
    print_findings(findings);
    return static_cast<int>(ExitCode::kConfig);
  }
  findings.throw_if_any();
  const PlanReport report = report_plan(*model.block, shard_plan, inputs);
  const std::string text =
      invocation.json ? plan_json(report, inputs.mesh) : format_plan(report, inputs.mesh);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

void setup_plan(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand(
      "plan", "the model's sharding plan and its bytes per rank; no memory is spent");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("config", arguments->config, "configuration file (YAML)")->required();
  command->add_option("overrides", arguments->overrides, "key=value changes to the config");
  command->add_option("--mesh", arguments->mesh,
                      "axes, as data=4,tensor=2 (data is another word for shard); default: the "
                      "sizes in trainer.strategy");
  command->add_option("--world-size", arguments->world_size, "ranks there will be, to check");
  command->add_option("--sequence-length", arguments->sequence_length,
                      "positions of a batch, to check");
  command->add_flag("--json", invocation.json, "machine-readable");
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] { return plan(*arguments, invocation); };
  });
}

}  // namespace s2s::run
