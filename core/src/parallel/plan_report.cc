#include "parallel/plan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "parallel/planned_model.h"

namespace s2s {
namespace {

std::string sizes_text(const std::vector<int64_t>& sizes) {
  return sizes.empty() ? "scalar" : fmt::format("{}", fmt::join(sizes, "x"));
}

/// What remains of the module path's own name: "weight".
std::string own_name(const PlannedParameter& parameter) {
  return parameter.module.empty() ? parameter.name
                                  : parameter.name.substr(parameter.module.size() + 1);
}

/// Tensors of one row that have one name and one shape are one line.
void add_lines(const TensorRow& row, const std::vector<const PlannedParameter*>& owned,
               PlanReport& report) {
  const PlanLine blank{
      row.module, to_string(row.style), to_string(row.in), to_string(row.out), "", {}, {}, 0};
  if (owned.empty()) {
    report.lines.push_back(blank);
    return;
  }
  std::map<std::pair<std::string, std::vector<int64_t>>, PlanLine> groups;
  for (const PlannedParameter* parameter : owned) {
    PlanLine& line =
        groups.try_emplace({own_name(*parameter), parameter->sizes}, blank).first->second;
    line.tensor = own_name(*parameter);
    line.sizes = parameter->sizes;
    line.per_rank = parameter->tensor_sizes;
    line.num_parameters += parameter->numel();
  }
  if (groups.size() > 2) {
    PlanLine line = blank;
    line.tensor = fmt::format("{} tensors", owned.size());
    for (const auto& group : groups) line.num_parameters += group.second.num_parameters;
    report.lines.push_back(line);
    return;
  }
  // The weight before the bias.
  for (auto it = groups.rbegin(); it != groups.rend(); ++it) report.lines.push_back(it->second);
}

/// Numbers of a tensor on one rank of the shard axis, which splits dim 0 and rounds up.
int64_t sharded_numel(const PlannedParameter& parameter, int64_t shard) {
  if (parameter.tensor_sizes.empty()) return 1;
  const int64_t first = parameter.tensor_sizes.front();
  if (first == 0) return 0;
  return parameter.tensor_numel() / first * ((first + shard - 1) / shard);
}

RankCost cost_of(const PlannedModel& planned, const PlanReportInputs& inputs) {
  RankCost cost;
  std::set<const at::Tensor*> seen;
  for (const PlannedParameter& parameter : planned.parameters) {
    if (!seen.insert(parameter.tensor).second) continue;
    const int64_t numbers = sharded_numel(parameter, inputs.mesh.shard);
    cost.parameters += numbers;
    if (inputs.is_trained(parameter.name)) cost.trained += numbers;
  }
  cost.parameter_bytes = cost.parameters * inputs.bytes_per_number;
  cost.gradient_bytes = cost.trained * inputs.bytes_per_number;
  cost.optimizer_bytes = cost.trained * inputs.bytes_per_number * inputs.optimizer_numbers;
  return cost;
}

std::string count_text(int64_t count) {
  if (count >= 10'000'000) return fmt::format("{:.0f} M", static_cast<double>(count) / 1e6);
  if (count >= 100'000) return fmt::format("{:.2f} M", static_cast<double>(count) / 1e6);
  return std::to_string(count);
}

std::string bytes_text(int64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (value >= 1e9) return fmt::format("{:.2f} GB", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.1f} MB", value / 1e6);
  return fmt::format("{:.1f} kB", value / 1e3);
}

std::string mesh_text(const MeshShape& mesh) {
  std::string text;
  const auto axis = [&](const char* name, int64_t size, bool always) {
    if (size > 1 || always) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, size);
  };
  axis("pipeline", mesh.pipeline, false);
  axis("replicate", mesh.replicate, false);
  axis("shard", mesh.shard, true);
  axis("context", mesh.context, false);
  axis("tensor", mesh.tensor, true);
  return fmt::format("{} = {} ranks", text, mesh.world_size());
}

}  // namespace

std::string PlanLine::text() const {
  if (tensor.empty()) return "-";
  if (per_rank.empty() && sizes.empty()) {
    return fmt::format("{}, {} numbers", tensor, num_parameters);
  }
  return fmt::format("{} {} -> {}", tensor, sizes_text(sizes), sizes_text(per_rank));
}

PlanReport report_plan(Block& model, const ShardPlan& plan, const PlanReportInputs& inputs) {
  const PlannedModel planned = plan_model(model, plan, inputs.mesh);
  PlanReport report;
  for (size_t i = 0; i < plan.rows.size(); ++i) {
    std::vector<const PlannedParameter*> owned;
    for (const PlannedParameter& parameter : planned.parameters) {
      if (!parameter.rows.empty() && parameter.rows.front() == i) owned.push_back(&parameter);
    }
    add_lines(plan.rows[i], owned, report);
  }
  for (const UnitRow& unit : plan.units) report.units.push_back(unit.module);
  for (const NamedTensor& parameter : model.named_parameters()) {
    int64_t numbers = 1;
    for (const int64_t size : parameter.sizes) numbers *= size;
    report.num_parameters += numbers;
  }
  report.rank = cost_of(planned, inputs);
  return report;
}

std::string format_plan(const PlanReport& report, const MeshShape& mesh) {
  size_t width = 6;
  for (const PlanLine& line : report.lines) width = std::max(width, line.module.size());
  std::string text = fmt::format("{:<{}}  {:<9}  {:<4}  {:<4}  whole -> per rank (tensor {})\n",
                                 "module", width, "style", "in", "out", mesh.tensor);
  for (const PlanLine& line : report.lines) {
    text += fmt::format("{:<{}}  {:<9}  {:<4}  {:<4}  {}\n", line.module, width, line.style,
                        line.in, line.out, line.text());
  }
  text +=
      fmt::format("\nunits     {} (gathered and freed together on the shard axis)\n",
                  report.units.empty() ? "none" : fmt::format("{}", fmt::join(report.units, ", ")));
  text += fmt::format("model     {} parameters\n", count_text(report.num_parameters));
  const RankCost& rank = report.rank;
  text += fmt::format(
      "per rank  {} parameters, {} trained: parameters {}, gradients {}, optimizer {}, together "
      "{}\n",
      count_text(rank.parameters), count_text(rank.trained), bytes_text(rank.parameter_bytes),
      bytes_text(rank.gradient_bytes), bytes_text(rank.optimizer_bytes),
      bytes_text(rank.parameter_bytes + rank.gradient_bytes + rank.optimizer_bytes));
  text += fmt::format("mesh      {}", mesh_text(mesh));
  if (mesh.tensor > 1) text += fmt::format(" (ranks 0-{} share a tensor group)", mesh.tensor - 1);
  return text + "\n";
}

}  // namespace s2s
