#pragma once
// Whether a checkpoint is whole, as far as one sees without reading its elements: what a save
// proves before its folder gets a name, and a resume before it trusts one.
// (core/docs/start/runs.md)

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weights/checkpoint_index.h"

namespace s2s {

/// state.json of a checkpoint; a discarded value where it is not there or no object.
/// Errors: [io/read].
nlohmann::json try_read_state(const std::string& checkpoint);
/// True when a state.json is that of weights alone, with which a run begins.
bool says_weights_only(const nlohmann::json& state);

/// What an index lacks: a group, the files of a rank, state.json, or all tensors of the model.
std::vector<std::string> index_faults(const CheckpointIndex& index, bool is_weights_only);

/// The first file of `index` in `folder` whose header does not have the tensors, types and counts
/// that the index says; "" when there is none.
std::string header_fault(const std::string& folder, const CheckpointIndex& index);

enum class ProofDepth {
  /// state.json, the index, what it must list, and the length of every file.
  kLengths,
  /// And that shards are every element once, and the header of every file of tensors.
  kHeaders
};
/// What keeps the folder from being a whole checkpoint; "" when nothing does. One without an index,
/// of an older program, needs its files and their headers. Errors: [io/read] for what cannot be
/// read at this moment, and may be whole.
std::string checkpoint_fault(const std::string& checkpoint, ProofDepth depth);

}  // namespace s2s
