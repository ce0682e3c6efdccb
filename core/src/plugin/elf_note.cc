#include "plugin/elf_note.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/mapped_file.h"
#include "plugin/plugin_errors.h"

namespace s2s {

namespace {

constexpr std::string_view kSectionName = ".s2s_plugin";
constexpr std::string_view kMagic{"S2SPLUG", 8};  // with its zero byte

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "the plugin host knows x86-64 and aarch64"
#endif

/// A file's bytes with checked reads.
class Content {
 public:
  Content(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  /// The stretch [offset, offset + size). Errors: [plugin/truncated], naming `what`.
  std::span<const std::byte> slice(uint64_t offset, uint64_t size, const char* what) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      throw truncated_error(file_, what, offset, size, bytes_.size());
    }
    return bytes_.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
  }

  template <class T>
  T read(uint64_t offset, const char* what) const {
    T value;
    std::memcpy(&value, slice(offset, sizeof(T), what).data(), sizeof(T));
    return value;
  }

  bool starts_with(std::string_view text) const {
    return bytes_.size() >= text.size() &&
           std::memcmp(bytes_.data(), text.data(), text.size()) == 0;
  }
  const std::string& file() const { return file_; }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
};

Elf64_Ehdr read_header(const Content& content) {
  if (!content.starts_with({ELFMAG, SELFMAG})) {
    throw not_elf_error(content.file(), "its first bytes are not those of an ELF file");
  }
  const auto header = content.read<Elf64_Ehdr>(0, "the ELF header");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine) {
    throw not_elf_error(content.file(), "it was built for another processor");
  }
  if (header.e_type != ET_DYN) {
    throw not_elf_error(content.file(), "it is an ELF file but not a shared object");
  }
  if (header.e_shentsize != sizeof(Elf64_Shdr)) {
    throw not_elf_error(content.file(), "its section headers have an unknown size");
  }
  return header;
}

Elf64_Shdr read_section(const Content& content, const Elf64_Ehdr& header, uint64_t index) {
  // A file of 2^58 sections is refused by the bound on the offset, not by an overflow.
  if (index > UINT32_MAX) throw no_note_error(content.file());
  const uint64_t distance = index * sizeof(Elf64_Shdr);
  if (header.e_shoff > UINT64_MAX - distance) throw no_note_error(content.file());
  return content.read<Elf64_Shdr>(header.e_shoff + distance, "the section headers");
}

std::optional<Elf64_Shdr> find_note_section(const Content& content, const Elf64_Ehdr& header) {
  if (header.e_shoff == 0) return std::nullopt;
  // Large counts stand in section 0 (System V ABI, "Special Section Indexes").
  const Elf64_Shdr zero = read_section(content, header, 0);
  const uint64_t count = header.e_shnum != 0 ? header.e_shnum : zero.sh_size;
  const uint64_t names_index = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : zero.sh_link;
  if (names_index >= count) return std::nullopt;
  const Elf64_Shdr names = read_section(content, header, names_index);
  const auto texts = content.slice(names.sh_offset, names.sh_size, "the section names");
  for (uint64_t i = 0; i < count; ++i) {
    const Elf64_Shdr section = read_section(content, header, i);
    if (section.sh_name >= texts.size()) continue;
    const auto* const name = reinterpret_cast<const char*>(texts.data()) + section.sh_name;
    const size_t length = strnlen(name, texts.size() - section.sh_name);
    if (std::string_view(name, length) == kSectionName) return section;
  }
  return std::nullopt;
}

}  // namespace

PluginNote parse_plugin_note(std::span<const std::byte> bytes, const std::string& file) {
  const Content content(bytes, file);
  const Elf64_Ehdr header = read_header(content);
  const std::optional<Elf64_Shdr> section = find_note_section(content, header);
  if (!section || section->sh_type == SHT_NOBITS) throw no_note_error(file);
  const auto note_bytes = content.slice(section->sh_offset, section->sh_size, "the note");
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
