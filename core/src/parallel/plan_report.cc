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
      row.module, to_string(row.style), to_string(row.in), to_string(row.out), "", {}, {}, 0, 1};
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
    line.copies = parameter->copies;
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

/// Numbers of parameters on one rank.
struct Held {
  int64_t split = 0, trained_split = 0;  // shared out on the shard axis
  int64_t whole = 0, trained_whole = 0;  // on the tensor axis only
  struct Unit {
    int64_t whole = 0, trained = 0;
  };
  std::map<std::string, Unit> units;
};

Held count_held(const PlannedModel& planned, const PlanReportInputs& inputs) {
  Held held;
  std::set<const at::Tensor*> seen;
  for (const PlannedParameter& parameter : planned.parameters) {
    if (!seen.insert(parameter.tensor).second) continue;
    const int64_t split = sharded_numel(parameter, inputs.mesh.shard);
    const int64_t whole = parameter.tensor_numel();
    held.split += split;
    held.whole += whole;
    Held::Unit& unit = held.units[parameter.unit];
    unit.whole += whole;
    if (!inputs.is_trained(parameter.name)) continue;
    held.trained_split += split;
    held.trained_whole += whole;
    unit.trained += whole;
  }
  return held;
}

/// Bytes that come and go with a unit: in stage 3 itself and the next one; then its gradients and
/// two buffers of their reduction. The largest.
int64_t passing_bytes(const Held& held, int stage, int64_t gather, int64_t bytes) {
  int64_t largest = 0;
  for (const auto& [path, unit] : held.units) {
    const int64_t gathered = stage >= 3 ? 2 * gather * unit.whole : 0;
    largest = std::max(largest, gathered + (gather + 2 * bytes) * unit.trained);
  }
  return largest;
}

/// Source: core/docs/sharding.md, "What the report counts".
RankCost cost_of(const PlannedModel& planned, const PlanReportInputs& inputs) {
  const Held held = count_held(planned, inputs);
  const int64_t bytes = inputs.bytes_per_number;
  const int64_t gather = inputs.gather_bytes_per_number;
  const bool is_sharded = inputs.mesh.shard > 1;
  const int stage = is_sharded ? inputs.zero_stage : 3;
  RankCost cost;
  cost.parameters = stage >= 3 ? held.split : held.whole;
  cost.trained = stage >= 3 ? held.trained_split : held.trained_whole;
  cost.parameter_bytes = cost.parameters * bytes;
  if (gather != bytes && (!is_sharded || stage < 3)) {  // copies in the type that is computed in
    cost.parameter_bytes = held.whole * gather + held.split * bytes;
  }
  cost.gradient_bytes = (stage >= 2 ? held.trained_split : held.trained_whole) * bytes;
  cost.optimizer_bytes = held.trained_split * bytes * inputs.optimizer_numbers;
  if (is_sharded && stage >= 2) cost.gathered_bytes = passing_bytes(held, stage, gather, bytes);
  return cost;
}

}  // namespace

std::string PlanLine::text() const {
  if (tensor.empty()) return "-";
  if (per_rank.empty() && sizes.empty()) {
    return fmt::format("{}, {} numbers", tensor, num_parameters);
  }
  return fmt::format(
      "{} {} -> {}{}", tensor, sizes_text(sizes), sizes_text(per_rank),
      copies > 1 ? fmt::format(" (x{}: {} ranks hold the same)", copies, copies) : "");
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
  report.mesh = inputs.mesh;
  report.zero_stage = inputs.zero_stage;
  report.step = inputs.step;
  report.traffic = expected_traffic(
      planned, plan,
      {inputs.mesh, inputs.step.micro_batches, inputs.step.positions(),
       inputs.step.positions_for(inputs.mesh.tensor), inputs.gather_bytes_per_number,
       inputs.bytes_per_number, inputs.zero_stage, inputs.is_trained});
  report.activations =
      expected_activations(model, planned, plan,
                           {inputs.mesh, inputs.step.length, inputs.gather_bytes_per_number,
                            inputs.bytes_per_number, inputs.bytes_per_number, inputs.is_trained});
  return report;
}

}  // namespace s2s
