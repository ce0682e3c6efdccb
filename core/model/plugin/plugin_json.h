#pragma once
// Plugin files as JSON, for `plugin list|inspect --json`.

#include <nlohmann/json.hpp>

#include "plugin/plugin_host.h"

namespace s2s {

/// Returns path, state, problem, and all fields of the note.
nlohmann::ordered_json plugin_json(const PluginFile& file);

}  // namespace s2s
