#pragma once
// Everything that can go wrong for the user of `s2s-run new`.

#include <string>

#include "s2s/error.h"

namespace s2s::run {

/// [project/name]: `project`, as it was given, has no name that a project can have.
Error project_name_error(const std::string& project);
/// [project/exists]: there is a file or a folder already.
Error project_exists_error(const std::string& folder);
/// [project/write]: `path` cannot be made; `reason`: what the system says.
Error project_write_error(const std::string& path, const std::string& reason);

}  // namespace s2s::run
