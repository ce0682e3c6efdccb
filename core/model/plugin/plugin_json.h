#pragma once
// Converts plugins to JSON, for `plugin list|inspect --json` and the manifest of a run.

#include <nlohmann/json.hpp>

#include "plugin/plugin_host.h"

namespace s2s {

/// Returns path, state, problem, and all fields of the note.
nlohmann::ordered_json plugin_json(const PluginFile& file);

/// Returns path, hash, registered components, and all fields of the note.
nlohmann::ordered_json plugin_json(const LoadedPlugin& plugin);

}  // namespace s2s
