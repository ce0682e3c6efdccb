#include "plan/plan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "plan/planned_model.h"

namespace s2s {
namespace {

std::string sizes_text(const std::vector<int64_t>& sizes) {
  return sizes.empty() ? "scalar" : fmt::format("{}", fmt::join(sizes, "x"));
}

/// Returns the parameter's name without the path of its module: "weight".
std::string own_name(const PlannedParameter& parameter) {
  return parameter.module.empty() ? parameter.name
                                  : parameter.name.substr(parameter.module.size() + 1);
}

/// Tensors of one row with equal names and shapes share one line.
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
  // The weight comes before the bias.
  for (auto it = groups.rbegin(); it != groups.rend(); ++it) report.lines.push_back(it->second);
}

int64_t bytes_of(const std::optional<at::ScalarType>& type, int64_t otherwise) {
  return type ? static_cast<int64_t>(c10::elementSize(*type)) : otherwise;
}

/// Combines the dtypes of a precision (stored, product) with those of a layout.
ElementBytes element_bytes(int64_t stored, int64_t product, const EngineSettings& settings) {
  ElementBytes bytes;
  bytes.stored = stored;
  bytes.gathered = bytes_of(settings.param_dtype, stored);
  bytes.reduced = bytes_of(settings.reduce_dtype, bytes.gathered);
  bytes.product = std::min(product, bytes.gathered);
  bytes.stream = bytes_of(settings.output_dtype, bytes.gathered);
  return bytes;
}

constexpr double kTightShare = 0.9;

}  // namespace

std::string PlanLine::text() const {
  if (tensor.empty()) return "-";
  if (per_rank.empty() && sizes.empty()) {
    return fmt::format("{}, {} elements", tensor, num_parameters);
  }
  return fmt::format(
      "{} {} -> {}{}", tensor, sizes_text(sizes), sizes_text(per_rank),
      copies > 1 ? fmt::format(" (x{}: {} ranks hold the same)", copies, copies) : "");
}

PlanReport report_plan(Block& model, const ShardPlan& plan, const PlanReportInputs& inputs) {
  const PlannedModel planned = plan_model(model, plan, inputs.settings.mesh);
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
    int64_t elements = 1;
    for (const int64_t size : parameter.sizes) elements *= size;
    report.num_parameters += elements;
  }
  const EngineSettings& settings = inputs.settings;
  const ElementBytes bytes = element_bytes(inputs.bytes_per_number, inputs.product_bytes, settings);
  report.rank = rank_cost(
      planned, plan,
      {settings, bytes, inputs.step.micro_batches, inputs.optimizer_numbers, inputs.is_trained});
  report.buffers = planned_buffers(model);
  for (const PlanBuffers& part : report.buffers) report.rank.buffer_bytes += part.bytes;
  report.settings = settings;
  report.step = inputs.step;
  report.traffic =
      expected_traffic(planned, plan,
                       {settings, inputs.step.micro_batches, inputs.step.positions(),
                        inputs.step.positions_for(settings.mesh.tensor), bytes, inputs.is_trained});
  report.activations = expected_activations(model, planned, plan,
                                            {settings.mesh, inputs.step.length, bytes.product,
                                             bytes.stream, bytes.gathered, inputs.is_trained});
  return report;
}

const char* to_string(Fit fit) {
  constexpr std::array kNames = {"fits", "tight", "too large"};
  static_assert(kNames.size() == static_cast<size_t>(Fit::kNo) + 1);
  return kNames.at(static_cast<size_t>(fit));
}

DeviceNeed device_need(const PlanReport& report) {
  DeviceNeed need{static_cast<double>(report.rank.total()), report.step.length > 0};
  if (!need.has_activations) return need;
  const Activations& activations = report.activations;
  const auto at = [&report](const SavedBytes& bytes) {
    return bytes.at(report.step.rows, report.step.length);
  };
  const RecomputeSettings& recompute = report.settings.recompute;
  if (recompute.what == RecomputeSettings::What::kBlocks && recompute.every == 1) {
    need.bytes += at(activations.recomputed) + at(activations.largest_block) -
                  static_cast<double>(report.rank.block_copy_bytes);
  } else {
    need.bytes += at(activations.all);
  }
  return need;
}

Fit fit_of(const DeviceNeed& need, double device_bytes) {
  if (need.bytes > device_bytes) return Fit::kNo;
  return need.bytes > kTightShare * device_bytes ? Fit::kTight : Fit::kYes;
}

std::string verdict_line(const PlanReport& report, double device_bytes) {
  if (device_bytes <= 0) return "";
  const DeviceNeed need = device_need(report);
  const Fit fit = fit_of(need, device_bytes);
  const int64_t ranks = report.settings.mesh.world_size();
  std::string text = fmt::format("{:<11} {:.2f} of {:.2f} GB on {}", to_string(fit),
                                 need.bytes / 1e9, device_bytes / 1e9,
                                 ranks == 1 ? "one rank" : fmt::format("each of {} ranks", ranks));
  if (!need.has_activations) text += ", without activations (--sequence-length counts them)";
  if (fit == Fit::kTight) text += "; kernel workspaces and memory fragmentation need memory, too";
  if (fit == Fit::kNo) text += "; --layouts lists what would fit";
  return text + "\n";
}

namespace {

template <class T>
nlohmann::ordered_json number_or_null(const std::optional<T>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json();
}

nlohmann::ordered_json traffic_json(const PlanReport& report) {
  const Traffic& traffic = report.traffic;
  const CollectiveBytes& tensor = traffic.tensor_per_position;
  return {{"micro_batches", report.step.micro_batches},
          {"positions", report.step.positions()},
          {"shard_gather_bytes", traffic.shard_gather},
          {"shard_reduce_bytes", traffic.shard_reduce},
          {"replicate_reduce_bytes", traffic.replicate_reduce},
          {"tensor_bytes_per_position", tensor.total()},
          {"tensor_bytes_per_position_by_kind",
           {{"all_gather", tensor.all_gather},
            {"reduce_scatter", tensor.reduce_scatter},
            {"all_reduce", tensor.all_reduce}}},
          {"tensor_activation_bytes", number_or_null(traffic.tensor_activations)},
          {"tensor_gradient_bytes", traffic.tensor_gradients},
          {"total_bytes", number_or_null(traffic.total())},
          {"not_counted", traffic.not_counted}};
}

nlohmann::ordered_json saved_json(const SavedBytes& bytes, const StepSize& step) {
  nlohmann::ordered_json json = {{"bytes_per_position", bytes.per_position},
                                 {"bytes_per_pair", bytes.per_pair},
                                 {"bytes_per_mask_element", bytes.per_mask},
                                 {"fixed_bytes", bytes.fixed}};
  json["bytes"] = step.length > 0
                      ? nlohmann::ordered_json(std::llround(bytes.at(step.rows, step.length)))
                      : nlohmann::ordered_json();
  return json;
}

nlohmann::ordered_json activations_json(const PlanReport& report) {
  const Activations& activations = report.activations;
  return {{"sequences", report.step.rows},
          {"positions", report.step.length},
          {"blocks", activations.num_blocks},
          {"none_recomputed", saved_json(activations.all, report.step)},
          {"every_block_recomputed", saved_json(activations.recomputed, report.step)},
          {"largest_block", saved_json(activations.largest_block, report.step)},
          {"not_counted", activations.not_counted}};
}

nlohmann::ordered_json mesh_json(const PlanReport& report) {
  const MeshShape& mesh = report.settings.mesh;
  return {{"pipeline", mesh.pipeline},
          {"replicate", mesh.replicate},
          {"shard", mesh.shard},
          {"context", mesh.context},
          {"tensor", mesh.tensor},
          {"ranks", mesh.world_size()},
          {"sequence_parallel", mesh.sequence_parallel},
          {"zero_stage", report.settings.zero_stage}};
}

}  // namespace

std::string plan_json(const PlanReport& report, double device_bytes) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const PlanLine& line : report.lines) {
    nlohmann::ordered_json row = {{"module", line.module}, {"style", line.style},
                                  {"in", line.in},         {"out", line.out},
                                  {"tensor", line.tensor}, {"parameters", line.num_parameters}};
    if (!line.per_rank.empty()) {
      row["shape"] = line.sizes;
      row["per_rank"] = line.per_rank;
      row["copies"] = line.copies;
    }
    rows.push_back(std::move(row));
  }
  nlohmann::ordered_json buffers = nlohmann::ordered_json::array();
  for (const PlanBuffers& part : report.buffers) {
    buffers.push_back({{"part", part.part},
                       {"tensors", part.tensors},
                       {"elements", part.elements},
                       {"bytes", part.bytes}});
  }
  const RankCost& rank = report.rank;
  const nlohmann::ordered_json per_rank = {
      {"parameters", rank.parameters},           {"trained", rank.trained},
      {"parameter_bytes", rank.parameter_bytes}, {"gradient_bytes", rank.gradient_bytes},
      {"optimizer_bytes", rank.optimizer_bytes}, {"gathered_bytes", rank.gathered_bytes},
      {"autocast_bytes", rank.copy_bytes},       {"buffer_bytes", rank.buffer_bytes},
      {"host_bytes", rank.host_bytes},           {"activations", activations_json(report)}};
  nlohmann::ordered_json root = {{"mesh", mesh_json(report)},
                                 {"rows", std::move(rows)},
                                 {"buffers", std::move(buffers)},
                                 {"units", report.units},
                                 {"parameters", report.num_parameters},
                                 {"per_rank", per_rank},
                                 {"traffic_per_step", traffic_json(report)}};
  if (device_bytes > 0) {
    const DeviceNeed need = device_need(report);
    root["device"] = {{"bytes", device_bytes},
                      {"needed_bytes", need.bytes},
                      {"activations_counted", need.has_activations},
                      {"fits", fit_of(need, device_bytes) != Fit::kNo}};
  }
  return root.dump(2) + "\n";
}

}  // namespace s2s
