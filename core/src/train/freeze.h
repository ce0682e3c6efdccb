#pragma once
// Which parameters train: model.freeze_params and model.prevent_freeze_params.

#include <string>
#include <vector>

#include "s2s/block.h"

namespace s2s {

/// Freezes every parameter whose name a `freeze` pattern matches at its start, unless a `keep`
/// pattern matches too. Returns the patterns that matched nothing.
/// Source: NeMo speechlm2 parts/optim_setup.py (Python's re.match; keep wins).
/// Errors: [config/pattern], [config/nothing-trainable].
std::vector<std::string> freeze_parameters(Block& model, const std::vector<std::string>& freeze,
                                           const std::vector<std::string>& keep);

/// True when the regular expression matches at the start of `name` (Python's re.match).
/// Errors: [config/pattern]; `key` names the config key in it.
bool pattern_matches(const std::string& pattern, const std::string& name, const std::string& key);

}  // namespace s2s
