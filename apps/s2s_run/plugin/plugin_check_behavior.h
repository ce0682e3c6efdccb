#pragma once
// The checks of a plugin that build its components.

#include <vector>

#include "plugin/plugin_check.h"

namespace s2s::run {

/// Checks 6 to 8 of `plugin check`: builds components with `tiny` options, checks the plans of
/// language models on small meshes, and runs the conformance checks. Errors: those of building,
/// [plugin/promises].
std::vector<PluginCheck> behavior_checks();

}  // namespace s2s::run
