#include "s2s_run/plan.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "parallel/nearest_meshes.h"
#include "parallel/plan_check.h"
#include "parallel/plan_report.h"
#include "parallel/planned_model.h"
#include "s2s/foreign_text.h"
#include "s2s_run/checked_config.h"
#include "s2s_run/described_model.h"
#include "s2s_run/number_checks.h"
#include "s2s_run/strategy_mesh.h"
#include "train/freeze.h"
#include "train/run_options.h"

namespace s2s::run {
namespace {

struct Arguments {
  ConfigArguments config;
  std::string mesh;
  int64_t world_size = 0;
  int64_t sequence_length = 0;
  int64_t batch_size = 0;
};

constexpr const char* kStrategy = "trainer.strategy.";

/// A strategy's option that this command reads, too.
const Config* strategy_option(const Config& config, const std::string& key) {
  const Config* value = config.find_path(kStrategy + key);
  return value != nullptr && value->is_scalar() ? value : nullptr;
}

void read_switch(const Config& config, const std::string& key, bool& value) {
  if (const Config* node = strategy_option(config, key)) value = node->as_bool(kStrategy + key);
}

/// --mesh, else what the strategy makes of so many ranks (0: of its own sizes); where none is
/// named, these sizes.
MeshShape choose_mesh(const Arguments& arguments, int64_t num_ranks, const Config& config,
                      const Registries& registries) {
  MeshShape mesh;
  if (!arguments.mesh.empty()) mesh = parse_mesh(arguments.mesh);
  read_switch(config, "sequence_parallel", mesh.sequence_parallel);
  read_switch(config, "replicate_kv_heads", mesh.replicate_kv_heads);
  if (!arguments.mesh.empty()) return mesh;
  mesh.shard = given_axis_size(config, "data_parallel_size").value_or(1);
  mesh.tensor = given_axis_size(config, "tensor_parallel_size").value_or(1);
  if (strategy_option(config, "name") == nullptr) return mesh;
  try {
    return mesh_of_strategy(registries, config, num_ranks > 0 ? num_ranks : mesh.world_size());
  } catch (const Error& error) {
    if (error.id() != "comm/mesh") throw;  // else the check compares both numbers
    return mesh_of_strategy(registries, config, mesh.world_size());
  }
}

/// --world-size, else what trainer.devices and trainer.num_nodes say, unless a mesh is tried; 0:
/// any.
int64_t asked_ranks(const Arguments& arguments, const Config& config) {
  if (arguments.world_size > 0 || !arguments.mesh.empty()) return arguments.world_size;
  return configured_ranks(config).value_or(0);
}

/// Sequences and positions of a micro-batch, and who says so.
void read_step_size(const Arguments& arguments, const Config& config, StepSize& step) {
  const std::string key = "data.train_ds.batch_size";
  const Config* rows = config.find_path(key);
  if (arguments.batch_size > 0) {
    step.rows = arguments.batch_size;
    step.rows_source = "--batch-size";
  } else if (rows != nullptr && rows->is_scalar() && !rows->is_null()) {
    step.rows = rows->as_int(key);
    step.rows_source = key;
  }
  step.length = arguments.sequence_length;
  step.length_source = "--sequence-length";
}

/// What trainer.strategy says about the layout, on this mesh.
EngineSettings layout_settings(const Config& config, const MeshShape& mesh) {
  Config options = Config::map();
  for (const OptionRow& option : list_options<ShardingOptions>()) {
    if (const Config* value = strategy_option(config, option.name)) options[option.name] = *value;
  }
  const int64_t data = mesh.shard * mesh.replicate;
  options["data_parallel_size"] = Config::scalar(std::to_string(data));
  options["replicate_size"] = Config::scalar(std::to_string(mesh.replicate));
  const std::string path = "trainer.strategy";
  EngineSettings settings =
      read_options<ShardingOptions>(options, path).settings(data * mesh.tensor, mesh.tensor, path);
  settings.mesh = mesh;
  return settings;
}

PlanReportInputs report_inputs(const MeshShape& mesh, const Arguments& arguments,
                               const Config& config, const RunOptions& options,
                               const FreezeRules& rules) {
  PlanReportInputs inputs;
  inputs.settings = layout_settings(config, mesh);
  const std::string& precision = options.trainer.precision;
  inputs.bytes_per_number = precision == "bf16-true" ? 2 : 4;
  inputs.product_bytes = precision.starts_with("32") ? 4 : 2;
  inputs.is_trained = [&rules](const std::string& name) { return rules.trains(name); };
  inputs.step.micro_batches = options.trainer.accumulate_grad_batches;
  read_step_size(arguments, config, inputs.step);
  return inputs;
}

/// A language model alone has no "llm." in its names: adapters freeze all else.
FreezeRules freeze_rules(const Config& config, const ModelBlock& model) {
  std::vector<std::string> frozen = model.frozen();
  const bool is_llm_alone = config.find_path("model.type") == nullptr;
  if (is_llm_alone && model.lora.r > 0) frozen.back() = "^.+$";
  return {frozen, model.kept()};
}

void print_findings(const Findings& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Error& error : findings.errors()) {
    list.push_back({{"id", error.id()}, {"message", error.message()}});
  }
  std::printf("%s\n", nlohmann::ordered_json{{"findings", std::move(list)}}.dump(2).c_str());
}

/// 3 when something was found; printed as JSON when that was asked for.
int report_findings(const Findings& findings, const Invocation& invocation) {
  if (findings.empty()) return 0;
  if (!invocation.json) findings.throw_if_any();
  print_findings(findings);
  return static_cast<int>(ExitCode::kConfig);
}

/// Findings that another mesh of as many ranks would not have name the meshes that work.
Findings with_advice(const Findings& findings, const DescribedModel& model,
                     const PlanCheckInputs& inputs) {
  const std::vector<MeshShape> meshes = nearest_meshes(*model.block, model.plan, inputs);
  if (findings.empty() || meshes.empty()) return findings;
  std::string advice = "\n  meshes of " + std::to_string(meshes.front().world_size()) +
                       (meshes.front().world_size() == 1 ? " rank" : " ranks") +
                       " that work, nearest first: ";
  for (const MeshShape& mesh : meshes) {
    advice += (&mesh == &meshes.front() ? "" : "; ") + mesh_argument(mesh);
  }
  Findings advised;
  for (size_t i = 0; i < findings.errors().size(); ++i) {
    const Error& error = findings.errors()[i];
    const bool is_last = i + 1 == findings.errors().size();
    advised.add(Error(error.exit_code(), error.id(), error.message() + (is_last ? advice : "")));
  }
  return advised;
}

/// As `train` warns, on standard error: the plan itself may be read by a program.
void warn_unmatched(const FreezeRules& rules, Block& model) {
  for (const std::string& pattern : rules.unmatched(model.named_parameters())) {
    std::fprintf(stderr, "warning: model.freeze_params: '%s' matches no parameter\n",
                 printable_name(pattern).c_str());
  }
}

int plan(const Arguments& arguments, const Invocation& invocation) {
  const CheckedConfig checked(arguments.config, RunPurpose::kPlan, invocation);
  if (const int code = report_findings(checked.check().findings, invocation)) return code;
  const Config& config = checked.check().written;
  const RunOptions options = read_run_options(config);
  const FreezeRules rules = freeze_rules(config, options.model);
  const DescribedModel model = describe_model(config, checked.registries());
  rules.check_some_train(model.block->named_parameters());

  const int64_t num_ranks = asked_ranks(arguments, config);
  const MeshShape mesh = choose_mesh(arguments, num_ranks, config, checked.registries());
  const PlanReportInputs inputs = report_inputs(mesh, arguments, config, options, rules);
  const ShardPlan shard_plan = model.plan(mesh);
  const PlanCheckInputs checked_for{mesh, num_ranks};
  const Findings findings = check_plan(*model.block, shard_plan, checked_for);
  if (!findings.empty())
    return report_findings(with_advice(findings, model, checked_for), invocation);
  warn_unmatched(rules, *model.block);
  const PlanReport report = report_plan(*model.block, shard_plan, inputs);
  const std::string text = invocation.json ? plan_json(report) : format_plan(report);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

void setup_plan(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand(
      "plan", "the model's sharding plan, its bytes per rank and its traffic; no memory is spent");
  auto arguments = std::make_shared<Arguments>();
  add_config_arguments(*command, arguments->config);
  command->add_option("--mesh", arguments->mesh,
                      "axes, as data=4,tensor=2 (data is another word for shard); default: the "
                      "sizes in trainer.strategy");
  command
      ->add_option(
          "--world-size", arguments->world_size,
          "ranks there will be; default: trainer.devices x trainer.num_nodes, where they are given")
      ->check(positive());
  command
      ->add_option("--sequence-length", arguments->sequence_length,
                   "positions of a sequence, for the traffic and for activations")
      ->check(positive());
  command
      ->add_option("--batch-size", arguments->batch_size,
                   "sequences of a micro-batch; default: data.train_ds.batch_size, else 1")
      ->check(positive());
  command->add_flag("--json", invocation.json, "machine-readable");
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] { return plan(*arguments, invocation); };
  });
}

}  // namespace s2s::run
