#pragma once
// What differs between two configurations: for a run that is continued with another one.

#include <string>
#include <utility>
#include <vector>

#include "s2s/config.h"

namespace s2s {

/// The dotted path and text of every scalar, null, empty list and empty map, in their order.
std::vector<std::pair<std::string, std::string>> config_values(const Config& config);

/// A line for each value that differs, in the order of `now` and then of `before`:
/// "a.b: 1 before, 2 now", "a.b: not there before, 2 now". Both resolved, or both as they
/// are stored (secrets.h).
std::vector<std::string> config_changes(const Config& before, const Config& now);

}  // namespace s2s
