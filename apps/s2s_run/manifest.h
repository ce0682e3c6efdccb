#pragma once
// manifest.json of a run: what made it, so that it can be made again.

#include <nlohmann/json.hpp>

#include "s2s_run/run_setup.h"

namespace s2s::run {

/// Versions, plugins with file hashes, host, git commit of the working folder, command line.
nlohmann::json run_manifest(const RunSetup& setup);

}  // namespace s2s::run
