#pragma once
// The contents of a plugin's note as printable text, and the ABI comparison with this program.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugin/component_id.h"
#include "plugin/elf_note.h"
#include "s2s/plugin.h"

namespace s2s {

/// The note's fields (s2s/plugin.h). Bytes that are not printable ASCII are shown as '?'.
struct PluginFacts {
  uint32_t api = 0;
  std::string torch, cxx, compiler, cuda, build;
  std::string name, version, license, origin;
  std::vector<std::string> provides;  // the lines as written
  /// Fingerprint of the data headers. Not set: the plugin includes none.
  std::optional<std::string> data_headers;
};

PluginFacts read_facts(const PluginNote& note);
PluginFacts read_facts(const PluginFileNote& file);

/// Returns the same fields for this program. Name, version, license and origin are empty.
PluginFacts host_facts();

struct AbiDifference {
  std::string field, plugin, host;
};

/// Returns the fields that differ but must be equal: api, torch, cxx. If both sides have them, also
/// compares the major version of CUDA and the data headers.
std::vector<AbiDifference> compare_abi(const PluginFacts& plugin, const PluginFacts& host);

/// Returns the problems of the fields that the author wrote: an empty name, version or license; a
/// line of `provides` that is not "kind:name", names an unknown kind, or is repeated; a model_type
/// without exactly one language model that reads it.
std::vector<std::string> field_findings(const PluginFacts& facts);

/// Returns the components of the valid lines of `provides`.
std::vector<ComponentId> provided_ids(const PluginFacts& facts);

/// Returns the names of the lines "model_type:NAME" of `provides`.
std::vector<std::string> model_types_of(const PluginFacts& facts);

/// Returns "api 2, torch 2.11.0, libstdc++ cxx11abi=1 debug=0 sdk=0123456789ab".
std::string abi_text(const PluginFacts& facts);

}  // namespace s2s
