#pragma once
// Reads the headers of tar archives: ustar, with PAX records and GNU's long names.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "files/byte_file.h"

namespace s2s::files {

constexpr int64_t kTarBlockBytes = 512;

struct TarMember {
  std::string name;
  int64_t header = 0;     // first byte of its first header (a PAX header, if it has one)
  int64_t begin = 0;      // of its data
  int64_t num_bytes = 0;  // of its data
  bool is_file = true;    // whether it is a regular file

  /// First byte after its data and their padding.
  int64_t end() const;
};

/// Returns the member whose first header is at `offset`, or nothing at the archive's end (blocks of
/// zeros, or the end of the file).
/// Errors: [data/tar] with the byte: a wrong checksum, a truncated archive, a wrong number or
/// record.
std::optional<TarMember> read_tar_member(const ByteFile& file, int64_t offset);

/// Returns the next regular file at or after `offset`; skips folders and links.
std::optional<TarMember> next_tar_file(const ByteFile& file, int64_t offset);

}  // namespace s2s::files
