#include "plugin/elf_note.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/mapped_file.h"
#include "plugin/elf_file.h"
#include "plugin/plugin_errors.h"

namespace s2s {

namespace {

constexpr std::string_view kSectionName = ".s2s_plugin";
constexpr std::string_view kMagic{"S2SPLUG\0", 8};

}  // namespace

PluginNote parse_plugin_note(std::span<const std::byte> bytes, const std::string& file) {
  const ElfFile elf(bytes, file);
  const std::optional<Elf64_Shdr> section = elf.section_named(kSectionName);
  if (!section || section->sh_type == SHT_NOBITS) throw no_note_error(file);
  const auto note_bytes = elf.content(*section, "the note");
  PluginNote note{};
  std::memcpy(&note, note_bytes.data(), std::min(note_bytes.size(), sizeof(note)));
  if (std::string_view(note.magic, sizeof(note.magic)) != kMagic) throw magic_error(file);
  if (note.size != sizeof(note) || note_bytes.size() < sizeof(note)) {
    throw note_size_error(file, note, note_bytes.size());
  }
  return note;
}

PluginNote read_plugin_note(const std::string& file) {
  try {
    const MappedFile mapped(file);
    return parse_plugin_note(mapped.bytes(), file);
  } catch (const std::system_error& error) {
    throw unreadable_error(file, error.code().message());
  }
}

}  // namespace s2s
