#pragma once
// Reads a plugin's note from its file. None of the plugin's code runs.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "s2s/plugin.h"

namespace s2s {

/// What a plugin's file says before any of its code runs.
struct PluginFileNote {
  PluginNote note;
  /// The start of the section ".s2s_data", up to its first zero byte: the data headers that the
  /// plugin was compiled with (s2s/data/fingerprint.h). Nothing: it includes none.
  std::optional<std::string> data_headers;
};

/// Reads the sections ".s2s_plugin" and ".s2s_data" of a 64-bit ELF shared object. Every offset is
/// checked against the file's size, so any content is safe. `file` names it in messages.
/// Errors: [plugin/not-elf], [plugin/truncated], [plugin/no-note], [plugin/magic],
/// [plugin/note-size].
/// Source: System V ABI, chapters "ELF header" and "Sections".
PluginFileNote parse_plugin_note(std::span<const std::byte> content, const std::string& file);

/// Maps the file and parses it. Errors: also [plugin/unreadable].
PluginFileNote read_plugin_note(const std::string& file);

}  // namespace s2s
