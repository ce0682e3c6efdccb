#include "checkpoint/checkpoint_state.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/foreign_json.h"
#include "weights/checkpoint_proof.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using nlohmann::json;

constexpr int kStateFormat = 2;  // format 1 has no index

/// Upper limit of each mesh axis and of the world size.
constexpr int64_t kMaxRanks = int64_t{1} << 31;

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
  json content = try_read_state(checkpoint);
  if (!content.is_object()) throw checkpoint_errors::incomplete(checkpoint, "state.json");
  return content;
}

namespace {

/// Returns true for "" and for an object of numbers.
bool is_trainer_state(const std::string& text) {
  if (text.empty()) return true;
  const json state = try_parse_foreign_json(text);
  return state.is_object() && std::all_of(state.begin(), state.end(),
                                          [](const json& value) { return value.is_number(); });
}

}  // namespace

RunState parse_state(const std::string& checkpoint, const json& content) {
  try {
    const json& steps = content.at("steps_done");
    if (!steps.is_number_integer()) throw checkpoint_errors::incomplete(checkpoint, "state.json");
    RunState state{steps.get<int64_t>(), content.at("data_state").get<std::string>()};
    state.trainer_state = content.value("trainer_state", "");
    if (!is_trainer_state(state.trainer_state) || state.steps_done < 0) {
      throw checkpoint_errors::incomplete(checkpoint, "state.json");
    }
    if (content.contains("monitored")) state.monitored = content.at("monitored").get<double>();
    return state;
  } catch (const json::exception&) {
    throw checkpoint_errors::incomplete(checkpoint, "state.json");
  }
}

MeshShape mesh_of_state(const json& content) {
  const auto stored = content.find("mesh");
  if (stored == content.end() || !stored->is_object()) return {};
  const auto axis = [&](const char* name) -> int64_t {
    const auto found = stored->find(name);
    const bool is_count = found != stored->end() && found->is_number_integer();
    return is_count ? std::clamp<int64_t>(found->get<int64_t>(), 1, kMaxRanks) : 1;
  };
  MeshShape mesh;
  mesh.pipeline = axis("pipeline");
  mesh.replicate = axis("replicate");
  mesh.shard = axis("shard");
  mesh.context = axis("context");
  mesh.tensor = axis("tensor");
  int64_t ranks = 1;
  for (const int64_t size :
       {mesh.pipeline, mesh.replicate, mesh.shard, mesh.context, mesh.tensor}) {
    ranks *= size;  // both factors fit in 31 bits
    if (ranks > kMaxRanks) return {};
  }
  return mesh;
}

std::optional<double> monitored_of(const std::string& checkpoint) {
  const json content = try_read_state(checkpoint);
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
