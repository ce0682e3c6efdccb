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

constexpr std::string_view kSectionName = ".s2s_plugin";  // a zero byte follows
constexpr std::string_view kMagic{"S2SPLUG\0", 8};

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

/// The section headers, which linkers write at the end of a file.
class Sections {
 public:
  Sections(const Content& content, const Elf64_Ehdr& header) : bytes_(find(content, header)) {}
  uint64_t size() const { return bytes_.size() / sizeof(Elf64_Shdr); }
  Elf64_Shdr operator[](uint64_t index) const {
    Elf64_Shdr section;
    std::memcpy(&section, bytes_.data() + index * sizeof(section), sizeof(section));
    return section;
  }

 private:
  static std::span<const std::byte> find(const Content& content, const Elf64_Ehdr& header) {
    if (header.e_shoff == 0) return {};
    // A count that needs more than 16 bits stands in section 0 (System V ABI, "Sections").
    const auto zero = content.read<Elf64_Shdr>(header.e_shoff, "the section headers");
    const uint64_t count = header.e_shnum != 0 ? header.e_shnum : zero.sh_size;
    // More sections than 32 bits count cannot be in a file; the bound prevents an overflow.
    const uint64_t size = std::min<uint64_t>(count, UINT32_MAX) * sizeof(Elf64_Shdr);
    return content.slice(header.e_shoff, size, "the section headers");
  }
  std::span<const std::byte> bytes_;
};

bool begins_with_name(std::span<const std::byte> texts) {
  const size_t size = kSectionName.size() + 1;  // with the zero byte behind it
  return texts.size() >= size && std::memcmp(texts.data(), kSectionName.data(), size) == 0;
}

std::optional<Elf64_Shdr> find_note_section(const Content& content, const Elf64_Ehdr& header) {
  const Sections sections(content, header);
  if (sections.size() == 0) return std::nullopt;
  const uint64_t names_index =
      header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : sections[0].sh_link;
  if (names_index >= sections.size()) return std::nullopt;
  const Elf64_Shdr names = sections[names_index];
  const auto texts = content.slice(names.sh_offset, names.sh_size, "the section names");
  for (uint64_t i = 0; i < sections.size(); ++i) {
    const Elf64_Shdr section = sections[i];
    if (section.sh_name < texts.size() && begins_with_name(texts.subspan(section.sh_name))) {
      return section;
    }
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
