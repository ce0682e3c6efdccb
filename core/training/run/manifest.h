#pragma once
// manifest.json of a run: what made it, so that it can be made again.

#include <nlohmann/json.hpp>
#include <string>

#include "run/run.h"

namespace s2s::run {

/// Versions, plugins with file hashes, host, git commit of the working folder, command line.
nlohmann::json run_manifest(const Run& setup);

/// For a run that goes on: the warning [run/other-plugin] when loaded plugins' names came from
/// other files when `path`, the manifest of the run so far, was written, or when it is no manifest.
/// A file that has only moved is the same one. "" when all are the same, and when there is no such
/// file.
std::string plugin_changes(const std::string& path, const Run& setup);

}  // namespace s2s::run
