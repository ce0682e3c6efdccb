#include "train/checkpoint_state.h"

#include <ATen/ATen.h>

#include <filesystem>
#include <fstream>

#include "train/train_errors.h"

namespace s2s {
namespace {

using nlohmann::json;

json mesh_json(const MeshShape& mesh) {
  return {{"pipeline", mesh.pipeline},
          {"replicate", mesh.replicate},
          {"shard", mesh.shard},
          {"context", mesh.context},
          {"tensor", mesh.tensor}};
}

}  // namespace

json state_json(const RunState& state, const MeshShape& mesh) {
  json content = {{"format", kStateFormat},
                  {"steps_done", state.steps_done},
                  {"data_state", state.data_state},
                  {"mesh", mesh_json(mesh)}};
  if (!state.trainer_state.empty()) content["trainer_state"] = state.trainer_state;
  if (state.monitored) content["monitored"] = *state.monitored;
  return content;
}

json read_state_json(const std::string& checkpoint) {
  std::ifstream in(std::filesystem::path(checkpoint) / "state.json");
  json content = json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!content.is_object()) throw_incomplete_checkpoint(checkpoint, "state.json");
  return content;
}

RunState parse_state(const std::string& checkpoint, const json& content) {
  try {
    RunState state{content.at("steps_done").get<int64_t>(),
                   content.at("data_state").get<std::string>()};
    state.trainer_state = content.value("trainer_state", "");
    if (content.contains("monitored")) state.monitored = content.at("monitored").get<double>();
    return state;
  } catch (const json::exception&) {
    throw_incomplete_checkpoint(checkpoint, "state.json");
  }
}

MeshShape mesh_of_state(const json& content) {
  MeshShape mesh;
  const auto stored = content.find("mesh");
  if (stored == content.end() || !stored->is_object()) return mesh;
  mesh.pipeline = stored->value("pipeline", int64_t{1});
  mesh.replicate = stored->value("replicate", int64_t{1});
  mesh.shard = stored->value("shard", int64_t{1});
  mesh.context = stored->value("context", int64_t{1});
  mesh.tensor = stored->value("tensor", int64_t{1});
  return mesh;
}

std::optional<double> monitored_of(const std::string& checkpoint) {
  std::ifstream in(std::filesystem::path(checkpoint) / "state.json");
  const json content = json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!content.is_object()) return std::nullopt;
  const auto value = content.find("monitored");
  if (value == content.end() || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

TensorMap random_states(bool with_cuda) {
  TensorMap states;
  states["cpu"] = at::globalContext().defaultGenerator(at::kCPU).get_state();
  if (with_cuda) states["cuda"] = at::globalContext().defaultGenerator(at::kCUDA).get_state();
  return states;
}

void set_random_states(const TensorMap& states) {
  at::Generator cpu = at::globalContext().defaultGenerator(at::kCPU);
  cpu.set_state(states.at("cpu"));
  const auto stored = states.find("cuda");
  if (stored == states.end() || !at::globalContext().hasCUDA()) return;
  at::Generator cuda = at::globalContext().defaultGenerator(at::kCUDA);
  cuda.set_state(stored->second);
}

}  // namespace s2s
