#pragma once
// The headers of tar archives: ustar, with PAX records and GNU's long names.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "files/byte_file.h"

namespace s2s::files {

constexpr int64_t kTarBlockBytes = 512;

struct TarMember {
  std::string name;
  int64_t header = 0;     // first byte of its first header (a PAX one, if there is one)
  int64_t begin = 0;      // of its data
  int64_t num_bytes = 0;  // of its data
  bool is_file = true;    // a regular one

  /// First byte behind its data and their padding.
  int64_t end() const;
};

/// The member whose first header is at `offset`; nothing at the archive's end (blocks of zeros, or
/// the end of the file).
/// Errors: [data/tar] with the byte: wrong checksum, cut off, a number or record that is none.
std::optional<TarMember> read_tar_member(const ByteFile& file, int64_t offset);

/// As above, the next regular file; folders and links are passed over.
std::optional<TarMember> next_tar_file(const ByteFile& file, int64_t offset);

}  // namespace s2s::files
