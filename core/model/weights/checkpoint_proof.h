#pragma once
// Checks whether a checkpoint is complete without reading its elements. A save checks this before
// it renames the folder, and a resume before it uses a checkpoint. (core/docs/start/runs.md)

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weights/checkpoint_index.h"

namespace s2s {

class SafetensorsFile;

/// Reads state.json of a checkpoint. Returns a discarded value when it is missing or not an object.
/// Errors: [io/read].
nlohmann::json try_read_state(const std::string& checkpoint);
/// Returns true when state.json marks a checkpoint with weights only, from which runs start.
bool says_weights_only(const nlohmann::json& state);

/// What an index lacks: a group, the files of a rank, state.json, or all tensors of the model.
std::vector<std::string> index_faults(const CheckpointIndex& index, bool is_weights_only);

/// Returns the tensors of a file of a group ("model-00000-of-00002.safetensors") that the index
/// does not list in this group. Files of no group have none.
std::vector<std::string> unlisted_tensors(const SafetensorsFile& tensors, const std::string& file,
                                          const CheckpointIndex& index);

/// Returns the first mismatch between `index` and the headers of the files in `folder`: tensors
/// (also those that the index leaves out), dtypes or element counts. Returns "" when all match.
std::string header_fault(const std::string& folder, const CheckpointIndex& index);

enum class ProofDepth {
  /// Checks state.json, the index, its required entries, and the length of every file.
  kLengths,
  /// Also checks that the shards cover every element once, and the header of every tensor file.
  kHeaders
};
/// Returns why the folder is not a complete checkpoint, or "". In a checkpoint of an older version,
/// without an index, checks the files and their headers. Errors: [io/read] when something cannot be
/// read now; the checkpoint may still be complete.
std::string checkpoint_fault(const std::string& checkpoint, ProofDepth depth);

}  // namespace s2s
