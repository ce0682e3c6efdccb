#pragma once
// Options that cannot be combined with kept codes.

#include "loader/dataset_scope.h"

namespace s2s::data {

/// Finds the options of a set that change or join the agent's audio, which kept codes do not
/// follow. Findings: [data/options].
void check_codes_options(const DatasetScope& scope, Findings& findings);

}  // namespace s2s::data
