#pragma once
// Interpolation for checks, which continue after the first finding (load_config.h: throws).

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s {

/// Resolves interpolations. A value that cannot be resolved keeps its text and adds a finding.
void resolve_interpolations(Config& config, Findings& findings);

/// Resolves only the tree at `path` (keys) and the values that it refers to.
void resolve_interpolations_at(Config& config, const std::vector<std::string>& path,
                               Findings& findings);

/// Escapes each "${" of `text`, so that it starts no interpolation.
std::string escape_interpolation(const std::string& text);
/// Escapes all texts of a resolved tree that will be resolved again.
void escape_interpolations(Config& config);

/// An expression of literal text and `${oc.env:NAME}` that evaluates to the resolved value `node`.
/// Nothing if the value does not depend on the environment.
std::optional<std::string> environment_expression(const Config& node);
/// The variables in that expression.
std::vector<std::string> environment_variables(const Config& node);

/// True for a value that still contains an interpolation.
bool is_unresolved(const Config& node);
/// True when `node` or anything below it is unresolved.
bool has_unresolved(const Config& node);

/// The first keys of all absolute paths in interpolations: "demo" of "${demo.data}/x".
std::set<std::string> interpolation_roots(const Config& config);

}  // namespace s2s
