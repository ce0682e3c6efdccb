#pragma once
// Interpolation for checks, which go on after the first finding (load_config.h has the other form).

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s {

/// Resolves what can be resolved; a value that cannot be keeps its text and adds a finding.
void resolve_interpolations(Config& config, Findings& findings);

/// The same for the tree at `path` (keys) and what it refers to, and nothing else.
void resolve_interpolations_at(Config& config, const std::vector<std::string>& path,
                               Findings& findings);

/// `text` as it is written so that its "${" stand for themselves.
std::string escape_interpolation(const std::string& text);
/// The same for every text of a tree that is resolved already and is to be resolved again.
void escape_interpolations(Config& config);

/// For a resolved value that the environment had part in: a text of texts and `${oc.env:NAME}` that
/// gives it again.
std::optional<std::string> environment_expression(const Config& node);
/// The variables in it.
std::vector<std::string> environment_variables(const Config& node);

/// True for a value that kept its "${".
bool is_unresolved(const Config& node);
/// True when `node` or anything below it is unresolved.
bool has_unresolved(const Config& node);

/// First steps of all absolute paths that interpolations name: "demo" of "${demo.data}/x".
std::set<std::string> interpolation_roots(const Config& config);

}  // namespace s2s
