#pragma once
// manifest.json of a run: what made it, so that it can be made again.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "s2s_run/run_setup.h"

namespace s2s::run {

/// Versions, plugins with file hashes, host, git commit of the working folder, command line.
nlohmann::json run_manifest(const RunSetup& setup);

/// For a run that goes on: a warning [run/other-plugin] for each loaded plugin whose names came
/// from another file when `path`, the manifest of the run so far, was written. A file that has only
/// moved is the same one. None when there is no such file, one when it is no manifest.
std::vector<std::string> plugin_changes(const std::string& path, const RunSetup& setup);

}  // namespace s2s::run
