#pragma once
// The calls in a pickle of torch.save that describe tensors. Each has an implementation here that
// only records what it would create. Nothing else can be called.
// Source: torch/_utils.py (_rebuild_*), torch/serialization.py (persistent_load).

#include <optional>
#include <string>
#include <vector>

#include "weights/pickle.h"

namespace s2s {

/// Returns true for the globals that a state dict needs.
bool is_known_global(const std::string& name);

/// Returns true for the globals that the `.metadata` of torch.distributed.checkpoint needs beside
/// those. Their calls have no result that is needed.
bool is_distributed_global(const std::string& name);
/// Returns true for those that are classes of records.
bool is_distributed_record(const std::string& name);

/// Returns the dtype of a global such as "torch.float32".
std::optional<at::ScalarType> dtype_of_global(const std::string& name);

/// Returns the result of calling the known global `name`. Errors: [weights/format] for invalid
/// arguments, [weights/refused] for a global that is not a function here.
PickleValue call_global(const std::string& path, const std::string& name,
                        const std::vector<PickleValue*>& arguments);

/// Returns the storage that a persistent id (a tuple) names. Errors: [weights/format].
PickleValue persistent_storage(const std::string& path, const PickleValue& id);

}  // namespace s2s
