#pragma once
// All errors of the plugin host. core/docs/reference/errors.md explains each id.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/component_id.h"
#include "plugin/plugin_facts.h"
#include "s2s/error.h"

namespace s2s {

// Reading a file.
Error unreadable_error(const std::string& file, const std::string& reason);
Error not_elf_error(const std::string& file, const std::string& reason);
Error truncated_error(const std::string& file, const char* what, uint64_t offset, uint64_t size,
                      uint64_t file_size);
Error no_note_error(const std::string& file);
Error magic_error(const std::string& file);
Error note_size_error(const std::string& file, const PluginNote& note, uint64_t section_size);
Error fields_error(const std::string& file, const std::vector<std::string>& findings);
Error abi_error(const std::string& file, const PluginFacts& facts,
                const std::vector<AbiDifference>& differences);

// Searching.
Error directory_error(const std::string& directory, const std::string& origin,
                      const std::string& reason);
Error file_error(const std::string& file, const std::vector<std::string>& tried);
Error duplicate_error(const ComponentId& id, const std::string& directory,
                      const std::vector<std::string>& files);

/// The contents of a [plugin/unknown] message besides the name.
struct UnknownName {
  ComponentId id;
  std::string place;                     // "x.yaml:14:7, model.llm.name", or ""
  std::vector<std::string> available;    // names that exist for this kind
  std::vector<std::string> other_kinds;  // kinds in which this name exists
  std::vector<std::string> searched;     // directories
};
Error unknown_error(const UnknownName& unknown);
/// [plugin/model-type] readers: names of language models.
Error model_type_error(const std::string& model_type, const std::vector<std::string>& readers,
                       const std::string& place);
Error unknown_plugin_error(const std::string& name, const std::vector<std::string>& available);
Error unknown_kind_error(const std::string& kind);

// Loading.
Error symbols_error(const std::string& file, const std::string& plugin, const std::string& symbol);
Error load_error(const std::string& file, const std::string& plugin, const std::string& reason);
Error entry_error(const std::string& file, const std::string& plugin);
Error threw_error(const std::string& file, const std::string& plugin, const std::string& what);
Error provides_error(const std::string& file, const std::string& plugin,
                     const std::vector<ComponentId>& not_registered,
                     const std::vector<ComponentId>& not_declared);
Error duplicate_name_error(const ComponentId& id);

// Making.
Error new_kind_error(const std::string& kind, const std::vector<std::string>& known,
                     const std::string& folder);
Error new_name_error(const std::string& name);

// Checking.
Error component_error(const std::vector<std::string>& findings);
/// `findings`: results of s2s::conformance, each with its component.
Error promises_error(const std::vector<std::string>& findings);
Error crashed_error(const std::string& file, const std::string& how, const std::string& doing);

}  // namespace s2s
