#pragma once
// What a command writes: nothing that is there is written over without --force.

#include <string>
#include <vector>

namespace s2s::run {

/// Errors: [io/exists] for the first of `paths` at which there is a file or a folder that is not
/// empty, unless `force`. What is written as a stream (a terminal, a pipe) may be there.
void require_new(const std::vector<std::string>& paths, bool force);

}  // namespace s2s::run
