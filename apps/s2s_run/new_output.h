#pragma once
// Protects existing files: commands overwrite them only with --force.

#include <string>
#include <vector>

namespace s2s::run {

/// Errors: [io/exists] for the first of `paths` that is a file or a folder that is not empty,
/// unless `force`. Devices and pipes are allowed.
void require_new(const std::vector<std::string>& paths, bool force);

}  // namespace s2s::run
