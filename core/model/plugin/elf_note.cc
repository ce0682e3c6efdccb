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
constexpr std::string_view kDataSectionName = ".s2s_data";
constexpr size_t kLongestFingerprint = 32;

PluginNote note_of(const ElfFile& elf, const std::string& file) {
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

std::optional<std::string> data_headers_of(const ElfFile& elf) {
  const std::optional<Elf64_Shdr> section = elf.section_named(kDataSectionName);
  if (!section) return std::nullopt;
  if (section->sh_type == SHT_NOBITS) return "";
  const auto bytes = elf.content(*section, "the fingerprint of the data headers");
  const auto* const text = reinterpret_cast<const char*>(bytes.data());
  return std::string(text, strnlen(text, std::min(bytes.size(), kLongestFingerprint)));
}

}  // namespace

PluginFileNote parse_plugin_note(std::span<const std::byte> bytes, const std::string& file) {
  const ElfFile elf(bytes, file);
  PluginNote note = note_of(elf, file);
  return {note, data_headers_of(elf)};
}

PluginFileNote read_plugin_note(const std::string& file) {
  try {
    const MappedFile mapped(file);
    return parse_plugin_note(mapped.bytes(), file);
  } catch (const std::system_error& error) {
    throw unreadable_error(file, error.code().message());
  }
}

}  // namespace s2s
