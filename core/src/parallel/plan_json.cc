#include <nlohmann/json.hpp>

#include "parallel/plan_report.h"

namespace s2s {

namespace {

template <class T>
nlohmann::ordered_json number_or_null(const std::optional<T>& number) {
  return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json();
}

nlohmann::ordered_json traffic_json(const PlanReport& report) {
  const Traffic& traffic = report.traffic;
  return {{"micro_batches", report.step.micro_batches},
          {"positions", report.step.positions},
          {"shard_gather_bytes", traffic.shard_gather},
          {"shard_reduce_bytes", traffic.shard_reduce},
          {"replicate_reduce_bytes", traffic.replicate_reduce},
          {"tensor_bytes_per_position", traffic.tensor_per_position},
          {"tensor_activation_bytes", number_or_null(traffic.tensor_activations)},
          {"tensor_gradient_bytes", traffic.tensor_gradients},
          {"total_bytes", number_or_null(traffic.total())},
          {"not_counted", traffic.not_counted}};
}

}  // namespace

std::string plan_json(const PlanReport& report) {
  const MeshShape& mesh = report.mesh;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const PlanLine& line : report.lines) {
    nlohmann::ordered_json row = {{"module", line.module}, {"style", line.style},
                                  {"in", line.in},         {"out", line.out},
                                  {"tensor", line.tensor}, {"parameters", line.num_parameters}};
    if (!line.per_rank.empty()) {
      row["shape"] = line.sizes;
      row["per_rank"] = line.per_rank;
    }
    rows.push_back(std::move(row));
  }
  const RankCost& rank = report.rank;
  const nlohmann::ordered_json root = {{"mesh",
                                        {{"pipeline", mesh.pipeline},
                                         {"replicate", mesh.replicate},
                                         {"shard", mesh.shard},
                                         {"context", mesh.context},
                                         {"tensor", mesh.tensor},
                                         {"ranks", mesh.world_size()}}},
                                       {"rows", std::move(rows)},
                                       {"units", report.units},
                                       {"parameters", report.num_parameters},
                                       {"per_rank",
                                        {{"parameters", rank.parameters},
                                         {"trained", rank.trained},
                                         {"parameter_bytes", rank.parameter_bytes},
                                         {"gradient_bytes", rank.gradient_bytes},
                                         {"optimizer_bytes", rank.optimizer_bytes}}},
                                       {"traffic_per_step", traffic_json(report)}};
  return root.dump(2) + "\n";
}

}  // namespace s2s
