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
/// The mesh of the run that wrote it; one rank where it says none.
MeshShape mesh_of_state(const nlohmann::json& content);
/// The monitored number; nothing where there is none, or no state.json that can be read.
std::optional<double> monitored_of(const std::string& checkpoint);

/// States of the generators: "cpu", and that of the current device of a type, "cuda", when asked
/// for.
TensorMap random_states(std::optional<at::DeviceType> device = std::nullopt);
void set_random_states(const TensorMap& states);

}  // namespace s2s
