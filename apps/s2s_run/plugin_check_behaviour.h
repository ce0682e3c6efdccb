#pragma once
// The checks of a plugin that build its components.

#include <vector>

#include "plugin/plugin_check.h"

namespace s2s::run {

/// Checks 6 and 7 of `plugin check`: components with `tiny` options are built, and keep the
/// promises of their interfaces. Errors: those of building, [plugin/promises].
std::vector<PluginCheck> behaviour_checks();

}  // namespace s2s::run
