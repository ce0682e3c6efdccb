#include <cmath>
#include <nlohmann/json.hpp>

#include "plan/plan_report.h"

namespace s2s {

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
  const RankCost& rank = report.rank;
  const nlohmann::ordered_json per_rank = {
      {"parameters", rank.parameters},           {"trained", rank.trained},
      {"parameter_bytes", rank.parameter_bytes}, {"gradient_bytes", rank.gradient_bytes},
      {"optimizer_bytes", rank.optimizer_bytes}, {"gathered_bytes", rank.gathered_bytes},
      {"autocast_bytes", rank.copy_bytes},       {"host_bytes", rank.host_bytes},
      {"activations", activations_json(report)}};
  nlohmann::ordered_json root = {
      {"mesh", mesh_json(report)}, {"rows", std::move(rows)},
      {"units", report.units},     {"parameters", report.num_parameters},
      {"per_rank", per_rank},      {"traffic_per_step", traffic_json(report)}};
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
