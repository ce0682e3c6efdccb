#pragma once
// Errors of this codec. `path` names the codec's options in the config ("model.codec").

#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::mimi {

/// [codec/mimi-sizes]: sizes of the options do not fit together.
Error sizes_error(const std::string& path, const std::string& problem);
/// [codec/mimi-weights]: weights under Kyutai's names are missing or have another shape.
Error kyutai_error(const std::string& path, const std::vector<std::string>& problems);
/// A warning, [codec/untrained]: the codec has random weights.
std::string untrained(const std::string& path);

}  // namespace s2s::mimi
