#pragma once
// What a plugin's note says, as text that is safe to print, and whether it fits this program.

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
  std::vector<std::string> provides;  // lines, as written
  /// Fingerprint of the data headers; nothing: the plugin includes none.
  std::optional<std::string> data_headers;
};

PluginFacts read_facts(const PluginNote& note);
PluginFacts read_facts(const PluginFileNote& file);

/// The same fields for this program; name, version, license and origin are empty.
PluginFacts host_facts();

struct AbiDifference {
  std::string field, plugin, host;
};

/// Fields that must be equal and are not: api, torch, cxx, and where both sides have them, cuda's
/// major number and the data headers.
std::vector<AbiDifference> compare_abi(const PluginFacts& plugin, const PluginFacts& host);

/// What is wrong with the fields that the author wrote: empty name, version or license; a line of
/// `provides` that is not "kind:name", names an unknown kind, or stands there twice.
std::vector<std::string> field_findings(const PluginFacts& facts);

/// The well-formed lines of `provides`.
std::vector<ComponentId> provided_ids(const PluginFacts& facts);

/// "api 2, torch 2.11.0, libstdc++ cxx11abi=1 debug=0 sdk=0123456789ab".
std::string abi_text(const PluginFacts& facts);

}  // namespace s2s
