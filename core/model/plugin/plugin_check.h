#pragma once
// The checks of `s2s-run plugin check FILE`, in the order they run.

#include <functional>
#include <string>
#include <vector>

#include "plugin/plugin_loader.h"

namespace s2s {

/// What the checks hand on to each other.
struct PluginCheckState {
  std::string path;
  PluginFile file;
  RegisterFunction function = nullptr;
  Registries staging;
};

struct PluginCheck {
  std::string title;  // "ABI equal"
  std::string doing;  // "registering", for "died with SIGSEGV while registering"
  /// Returns a detail to print; throws Error when the check does not hold.
  std::function<std::string(PluginCheckState&)> run;
};

/// Checks 1 to 5: the note, the ABI, the symbols, the registration, the options. Checks of
/// behavior (shapes, gradients, plans) are added after these by
/// apps/s2s_run/plugin/plugin_check.cc, because they need rooms above this one.
std::vector<PluginCheck> plugin_file_checks();

/// What is wrong with a component's table: no doc, a name twice, a default outside its bounds.
std::vector<std::string> option_findings(const ComponentId& id, const OptionTable& table);

}  // namespace s2s
