#pragma once
// Loads a plugin into the process. It stays loaded until the process ends.

#include <string>
#include <vector>

#include "plugin/plugin_scan.h"
#include "s2s/registry.h"

namespace s2s {

using RegisterFunction = void (*)(Registrar&);

/// Opens the file with all symbols resolved and finds its registration function.
/// Errors: the file's problem if it has one; [plugin/symbols], [plugin/load], [plugin/entry].
RegisterFunction open_plugin(const PluginFile& file);

/// Runs the registration function on `staging`. Errors: [plugin/threw].
void run_registration(RegisterFunction function, const PluginFile& file, Registries& staging);

/// Errors: [plugin/provides] when the registered components differ from the declared ones.
void check_provides(const PluginFile& file, const Registries& staging);

/// Adds the components of `ids` to `registries`: all or none.
/// Errors: [plugin/duplicate-name] when one of them is already registered.
void commit(const Registries& staging, const std::vector<ComponentId>& ids, Registries& registries);

/// Returns the SHA-1 of the file's content in hexadecimal (as sha1sum prints it).
std::string file_sha1(const std::string& path);

}  // namespace s2s
