#include "plugin/elf_file.h"

#include <algorithm>
#include <cstring>

#include "plugin/plugin_errors.h"

namespace s2s {

namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "the plugin host knows x86-64 and aarch64"
#endif

/// Returns true when `texts` starts with `name` and a zero byte.
bool begins_with(std::span<const std::byte> texts, std::string_view name) {
  return texts.size() > name.size() && std::memcmp(texts.data(), name.data(), name.size()) == 0 &&
         texts[name.size()] == std::byte{0};
}

}  // namespace

ElfFile::ElfFile(std::span<const std::byte> bytes, const std::string& file)
    : bytes_(bytes), file_(file), header_(read_header()), sections_(find_sections()) {}

std::span<const std::byte> ElfFile::slice(uint64_t offset, uint64_t size, const char* what) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) {
    throw truncated_error(file_, what, offset, size, bytes_.size());
  }
  return bytes_.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
}

Elf64_Ehdr ElfFile::read_header() const {
  if (bytes_.size() < SELFMAG || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) {
    throw not_elf_error(file_, "its first bytes are not those of an ELF file");
  }
  Elf64_Ehdr header;
  std::memcpy(&header, slice(0, sizeof(header), "the ELF header").data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine) {
    throw not_elf_error(file_, "it was built for another processor");
  }
  if (header.e_type != ET_DYN) {
    throw not_elf_error(file_, "it is an ELF file but not a shared object");
  }
  if (header.e_shentsize != sizeof(Elf64_Shdr)) {
    throw not_elf_error(file_, "its section headers have an unknown size");
  }
  return header;
}

std::span<const std::byte> ElfFile::find_sections() const {
  if (header_.e_shoff == 0) return {};
  // A count that needs more than 16 bits is stored in section 0 (System V ABI, "Sections").
  Elf64_Shdr zero;
  const auto first = slice(header_.e_shoff, sizeof(zero), "the section headers");
  std::memcpy(&zero, first.data(), sizeof(zero));
  const uint64_t count = header_.e_shnum != 0 ? header_.e_shnum : zero.sh_size;
  // No file has more sections than fit in 32 bits. The limit prevents an overflow.
  const uint64_t size = std::min<uint64_t>(count, UINT32_MAX) * sizeof(Elf64_Shdr);
  return slice(header_.e_shoff, size, "the section headers");
}

Elf64_Shdr ElfFile::at(uint64_t index) const {
  Elf64_Shdr section;
  std::memcpy(&section, sections_.data() + index * sizeof(section), sizeof(section));
  return section;
}

std::optional<Elf64_Shdr> ElfFile::section(uint64_t index) const {
  if (index >= num_sections()) return std::nullopt;
  return at(index);
}

std::optional<Elf64_Shdr> ElfFile::section_named(std::string_view name) const {
  if (num_sections() == 0) return std::nullopt;
  const auto names = section(header_.e_shstrndx != SHN_XINDEX ? header_.e_shstrndx : at(0).sh_link);
  if (!names) return std::nullopt;
  const auto texts = content(*names, "the section names");
  for (uint64_t i = 0; i < num_sections(); ++i) {
    const Elf64_Shdr section = at(i);
    if (section.sh_name < texts.size() && begins_with(texts.subspan(section.sh_name), name)) {
      return section;
    }
  }
  return std::nullopt;
}

std::optional<Elf64_Shdr> ElfFile::section_of_type(Elf64_Word type) const {
  for (uint64_t i = 0; i < num_sections(); ++i) {
    if (const Elf64_Shdr section = at(i); section.sh_type == type) return section;
  }
  return std::nullopt;
}

}  // namespace s2s
