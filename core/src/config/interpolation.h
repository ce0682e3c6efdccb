#pragma once
// Interpolation for checks, which go on after the first finding (load_config.h has the other form).

#include <set>
#include <string>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s {

/// Resolves what can be resolved; a value that cannot be keeps its text and adds a finding.
void resolve_interpolations(Config& config, Findings& findings);

/// True for a value that kept its "${".
bool is_unresolved(const Config& node);

/// First steps of all absolute paths that interpolations name: "demo" of "${demo.data}/x".
std::set<std::string> interpolation_roots(const Config& config);

}  // namespace s2s
