#pragma once
// Reads a plugin's note from its file without running its code.

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "s2s/plugin.h"

namespace s2s {

/// The information in a plugin's file that can be read without running its code.
struct PluginFileNote {
  PluginNote note;
  /// The text of the section ".s2s_data", up to its first zero byte: the fingerprint of the data
  /// headers that the plugin was compiled with (s2s/data/fingerprint.h). Not set: the plugin
  /// includes none.
  std::optional<std::string> data_headers;
};

/// Reads the sections ".s2s_plugin" and ".s2s_data" of a 64-bit ELF shared object. Checks every
/// offset against the file size, so any content is safe. `file` is the name in messages.
/// Errors: [plugin/not-elf], [plugin/truncated], [plugin/no-note], [plugin/magic],
/// [plugin/note-size].
/// Source: System V ABI, chapters "ELF header" and "Sections".
PluginFileNote parse_plugin_note(std::span<const std::byte> content, const std::string& file);

/// Maps and parses a file. Errors: also [plugin/unreadable].
PluginFileNote read_plugin_note(const std::string& file);

}  // namespace s2s
