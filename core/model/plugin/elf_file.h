#pragma once
// Reads a 64-bit ELF shared object of this processor without running its code.

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace s2s {

/// Checks every offset against the file size, so any content is safe.
/// Source: System V ABI, chapters "ELF header" and "Sections".
class ElfFile {
 public:
  /// `file` is the name in messages. Keeps references to both arguments.
  /// Errors: [plugin/not-elf], [plugin/truncated].
  ElfFile(std::span<const std::byte> bytes, const std::string& file);

  /// Returns the first section of this name, or nothing. Errors: [plugin/truncated].
  std::optional<Elf64_Shdr> section_named(std::string_view name) const;
  /// Returns the first section of this type (SHT_DYNAMIC, ...), or nothing.
  std::optional<Elf64_Shdr> section_of_type(Elf64_Word type) const;
  /// Returns the section with this index, or nothing.
  std::optional<Elf64_Shdr> section(uint64_t index) const;
  /// Returns the bytes of a section. Errors: [plugin/truncated] with `what`.
  std::span<const std::byte> content(const Elf64_Shdr& section, const char* what) const {
    return slice(section.sh_offset, section.sh_size, what);
  }

 private:
  std::span<const std::byte> slice(uint64_t offset, uint64_t size, const char* what) const;
  Elf64_Ehdr read_header() const;
  /// Finds the section headers, which linkers write at the end of a file.
  std::span<const std::byte> find_sections() const;
  uint64_t num_sections() const { return sections_.size() / sizeof(Elf64_Shdr); }
  Elf64_Shdr at(uint64_t index) const;

  std::span<const std::byte> bytes_;
  const std::string& file_;
  Elf64_Ehdr header_;
  std::span<const std::byte> sections_;
};

}  // namespace s2s
