#pragma once
// The checks of a plugin that build its components.

#include <vector>

#include "plugin/plugin_check.h"

namespace s2s::run {

/// Checks 6 to 8 of `plugin check`: components with `tiny` options are built, the plans of language
/// models hold on small meshes, and all keep the promises of their interfaces. Errors: those of
/// building, [plugin/promises].
std::vector<PluginCheck> behavior_checks();

}  // namespace s2s::run
