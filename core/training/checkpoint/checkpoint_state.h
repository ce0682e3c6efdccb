#pragma once
// state.json of a checkpoint, and the random generators.

#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/checkpoint.h"

namespace s2s {

nlohmann::json state_json(const RunState& state, const MeshShape& mesh);
/// Errors: [checkpoint/incomplete].
nlohmann::json read_state_json(const std::string& checkpoint);
RunState parse_state(const std::string& checkpoint, const nlohmann::json& content);
/// Returns the mesh of the run that wrote the checkpoint. Without a recorded mesh, one rank.
MeshShape mesh_of_state(const nlohmann::json& content);
/// Returns the monitored metric. Returns nothing when there is none or state.json cannot be read.
std::optional<double> monitored_of(const std::string& checkpoint);

/// Returns the states of the generators: "cpu", and if requested "cuda" (the current device).
TensorMap random_states(bool with_cuda);
void set_random_states(const TensorMap& states);

}  // namespace s2s
