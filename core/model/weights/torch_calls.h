#pragma once
// The calls in a pickle of torch.save that describe tensors. Each has a counterpart here that only
// writes down what it would make; nothing else can be called.
// Source: torch/_utils.py (_rebuild_*), torch/serialization.py (persistent_load).

#include <string>
#include <vector>

#include "weights/pickle.h"

namespace s2s {

/// True for the globals that a state dict needs.
bool is_known_global(const std::string& name);

/// What calling the known global `name` gives. Errors: [weights/format] for arguments that do not
/// fit, [weights/refused] for a global that is no function here.
PickleValue call_global(const std::string& path, const std::string& name,
                        const std::vector<PickleValue*>& arguments);

/// The storage that a persistent id (a tuple) names. Errors: [weights/format].
PickleValue persistent_storage(const std::string& path, const PickleValue& id);

}  // namespace s2s
