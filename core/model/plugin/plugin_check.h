#pragma once
// The checks of `s2s-run plugin check FILE`, in order.

#include <functional>
#include <string>
#include <vector>

#include "plugin/plugin_loader.h"

namespace s2s {

/// State that the checks pass to later checks.
struct PluginCheckState {
  std::string path;
  PluginFile file;
  RegisterFunction function = nullptr;
  Registries staging;
};

struct PluginCheck {
  std::string title;  // "ABI equal"
  std::string doing;  // "registering", for "died with SIGSEGV while registering"
  /// Returns a detail to print. Throws Error when the check fails.
  std::function<std::string(PluginCheckState&)> run;
};

/// Returns checks 1 to 5: note, ABI, symbols, registration, options. The checks of behavior
/// (shapes, gradients, plans) follow in apps/s2s_run/plugin/plugin_check.cc, because they need
/// higher layers.
std::vector<PluginCheck> plugin_file_checks();

/// Returns the problems of a component's option table: missing docs, repeated names, defaults
/// outside of their bounds.
std::vector<std::string> option_findings(const ComponentId& id, const OptionTable& table);

}  // namespace s2s
