#pragma once
// Reads the notes of every plugin on the search path without running their code.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugin/component_id.h"
#include "plugin/plugin_facts.h"
#include "plugin/search_path.h"
#include "s2s/error.h"

namespace s2s {

enum class PluginState {
  kFound,
  kShadowed,      // an earlier directory provides all of its names
  kDuplicate,     // another file of the same directory provides one of its names
  kIncompatible,  // built for another ABI
  kUnreadable,    // not a plugin, or damaged
};
const char* state_name(PluginState state);

/// One file ending in ".so".
struct PluginFile {
  std::string path;
  std::string place;  // the folder of the search path it was found in, or "plugins.load"
  PluginState state = PluginState::kFound;
  PluginFacts facts;                  // empty when the note could not be read
  std::vector<ComponentId> provides;  // empty when unreadable
  std::optional<Error> problem;       // why it cannot be loaded
  const std::string& label() const { return facts.name.empty() ? path : facts.name; }
};

/// A name that an earlier directory also provides.
struct Shadowing {
  ComponentId id;
  std::string winner;  // file names
  std::string loser;
};

struct PluginScan {
  std::vector<PluginFile> files;         // in search order, by file name inside a directory
  std::map<ComponentId, size_t> owners;  // index into `files` of the file that serves a name
  std::map<std::string, std::vector<std::string>> readers;  // model_type -> names of llm components
  std::vector<Shadowing> shadowed;
  Findings duplicates;  // [plugin/duplicate]
};

/// Reads the note of one file. Problems are recorded in the result, not thrown.
PluginFile read_plugin_file(const std::string& path);

/// Reads all notes and decides which file serves which name. The files of `load` come first. An
/// incompatible file keeps its names, so that no other file silently replaces it.
PluginScan scan_plugins(const SearchPath& search);

/// Returns the components of a kind that come with the running program: they lie next to it, and
/// their names have no vendor. In the order of files and notes.
std::vector<std::string> own_names(const PluginScan& scan, const std::string& kind);

}  // namespace s2s
