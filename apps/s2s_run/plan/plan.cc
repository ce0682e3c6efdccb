// s2s-run plan: prints and checks the sharding plan of a configuration's model, without allocating
// the model.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "plan/plan_check.h"
#include "plan/plan_report.h"
#include "s2s/foreign_text.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/plan/plan_inputs.h"
#include "s2s_run/plan/plan_layouts.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

void print_findings(const Findings& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Error& error : findings.errors()) {
    list.push_back({{"id", error.id()}, {"message", error.message()}});
  }
  std::printf("%s\n", nlohmann::ordered_json{{"findings", std::move(list)}}.dump(2).c_str());
}

/// Reports findings (as JSON with --json). Returns 3 if there are any, else 0.
int report_findings(const Findings& findings, const Invocation& invocation) {
  if (findings.empty()) return 0;
  if (!invocation.json) findings.throw_if_any();
  print_findings(findings);
  return static_cast<int>(ExitCode::kConfig);
}

/// Adds to the findings which meshes of the same number of ranks work.
Findings with_advice(const Findings& findings, const MetaModel& model,
                     const PlanCheckInputs& inputs) {
  const std::vector<MeshShape> meshes = nearest_meshes(*model.block, model.plan, inputs);
  if (findings.empty() || meshes.empty()) return findings;
  std::string advice = "\n  meshes of " + std::to_string(meshes.front().world_size()) +
                       (meshes.front().world_size() == 1 ? " rank" : " ranks") +
                       " that work, nearest first: ";
  for (const MeshShape& mesh : meshes) {
    advice += (&mesh == &meshes.front() ? "" : "; ") + mesh_argument(mesh);
  }
  advice += "\n  next:      --mesh " + mesh_argument(meshes.front()) +
            ", or --layouts to list the strategies for this number of ranks";
  Findings advised;
  for (size_t i = 0; i < findings.errors().size(); ++i) {
    const Error& error = findings.errors()[i];
    const bool is_last = i + 1 == findings.errors().size();
    advised.add(Error(error.exit_code(), error.id(), error.message() + (is_last ? advice : "")));
  }
  return advised;
}

/// Warns on standard error, as `train` does; standard output may be parsed.
void warn_unmatched(const FreezeRules& rules, Block& model) {
  for (const std::string& pattern : rules.unmatched(model.named_parameters())) {
    std::fprintf(stderr, "warning: model.freeze_params: '%s' matches no parameter\n",
                 printable_name(pattern).c_str());
  }
}

int plan(const PlanArguments& arguments, const Invocation& invocation) {
  const RunConfig checked(arguments.config, RunPurpose::kPlan, invocation);
  if (const int code = report_findings(checked.check().findings, invocation)) return code;
  const PlannedRun run(arguments, checked.check().written, checked.registries());
  warn_unmatched(run.rules(), *run.model().block);
  if (arguments.layouts) return print_layouts(run, arguments, invocation);
  const MeshShape mesh = run.asked_mesh();
  const PlanCheckInputs checked_for{mesh, run.asked_ranks()};
  const Findings findings = check_plan(*run.model().block, run.model().plan(mesh), checked_for);
  if (!findings.empty())
    return report_findings(with_advice(findings, run.model(), checked_for), invocation);
  const PlanReport report = run.report(run.asked_settings(mesh));
  const auto gpu_bytes = static_cast<double>(arguments.gpu_bytes);
  if (invocation.json) {
    std::fputs(plan_json(report, gpu_bytes).c_str(), stdout);
  } else {
    std::fputs((format_plan(report) + verdict_line(report, gpu_bytes)).c_str(), stdout);
  }
  return 0;
}

}  // namespace

void setup_plan(const Command& program) {
  const Command command = program.command("plan",
                                          "print the sharding plan: memory per rank and "
                                          "communication volume, without allocating the model");
  PlanArguments& arguments = command.runs(plan);
  add_config_arguments(command, arguments.config);
  command.option("--mesh", arguments.mesh,
                 "mesh axes, for example data=4,tensor=2 (data is an alias of shard); default: the "
                 "sizes in trainer.strategy");
  command
      .option("--world-size", arguments.world_size,
              "number of ranks; default: trainer.devices x trainer.num_nodes, if set")
      .positive();
  command
      .option("--sequence-length", arguments.sequence_length,
              "positions per sequence, to compute activations and communication volume")
      .positive();
  command
      .option("--batch-size", arguments.batch_size,
              "sequences per micro-batch; default: data.train_ds.batch_size, or 1")
      .positive();
  command
      .option("--gpu-memory", arguments.gpu_bytes,
              "memory of each rank's device, for example 80GB; report whether the plan fits")
      .size_with_unit()
      .positive();
  command.flag("--layouts", arguments.layouts,
               "list all layouts for this number of ranks: those that fit --gpu-memory first, then "
               "by communication volume");
  command.json("print JSON");
}

}  // namespace s2s::run
