#pragma once
// Reads a plugin's note from its file. None of the plugin's code runs.

#include <cstddef>
#include <span>
#include <string>

#include "s2s/plugin.h"

namespace s2s {

/// The note in the section ".s2s_plugin" of a 64-bit ELF shared object. Every offset is checked
/// against the file's size, so any content is safe. `file` names it in messages.
/// Errors: [plugin/not-elf], [plugin/truncated], [plugin/no-note], [plugin/magic],
/// [plugin/note-size].
/// Source: System V ABI, chapters "ELF header" and "Sections".
PluginNote parse_plugin_note(std::span<const std::byte> content, const std::string& file);

/// Maps the file and parses it. Errors: also [plugin/unreadable].
PluginNote read_plugin_note(const std::string& file);

}  // namespace s2s
