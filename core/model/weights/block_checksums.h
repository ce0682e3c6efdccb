#pragma once
// Checksums of a file, one for each block of it, so that a reader can check what it reads and no
// more: CRC-32 (zlib's), which on current processors costs less than reading the disk.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// Bytes of a block; the last one of a file is shorter.
inline constexpr uint64_t kChecksumBlockBytes = 4U << 20U;

struct FileChecksums {
  uint64_t bytes = 0;
  std::vector<uint32_t> blocks;
};

/// Of bytes as they are written.
class ChecksumStream {
 public:
  void add(const void* data, uint64_t bytes);
  const FileChecksums& sums() const { return sums_; }

 private:
  FileChecksums sums_;
};

uint32_t checksum_of(const void* data, uint64_t bytes);
/// Reads a whole file. Errors: [weights/unreadable].
FileChecksums checksums_of_file(const std::string& path);

/// Eight hexadecimal digits each, one after the other.
std::string checksums_text(const std::vector<uint32_t>& blocks);
/// The reverse; false when `text` is something else.
bool parse_checksums(std::string_view text, std::vector<uint32_t>& blocks);

}  // namespace s2s
