#pragma once
// manifest.json of a run: the data needed to reproduce it.

#include <nlohmann/json.hpp>
#include <string>

#include "plugin/plugin_host.h"

namespace s2s::run {

/// Versions, plugins with file hashes, host, git commit of the working folder and command line.
nlohmann::json run_manifest(const PluginHost& host);

/// The `run_id` in the manifest at `path`, which a run keeps when it resumes: eight characters of
/// a-z and 0-9. A new one when there is no such manifest.
std::string run_id_of(const std::string& path);

/// For a resumed run: compares the loaded plugins with `path`, the manifest of the run so far.
/// Returns the warning [run/other-plugin] when plugins were loaded from other files, or when `path`
/// is not a manifest. Files are compared by content, so a moved file counts as the same. Returns ""
/// when all files are the same or `path` does not exist.
std::string plugin_changes(const std::string& path, const PluginHost& host);

}  // namespace s2s::run
