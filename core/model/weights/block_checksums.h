#pragma once
// CRC-32 checksums (zlib) for each block of a file, so that a reader can verify only the blocks it
// reads. On current processors they cost less than reading the disk.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// Bytes per block. The last block of a file is shorter.
inline constexpr uint64_t kChecksumBlockBytes = 4U << 20U;

struct FileChecksums {
  uint64_t bytes = 0;
  std::vector<uint32_t> blocks;
};

/// Computes checksums while bytes are written.
class ChecksumStream {
 public:
  void add(const void* data, uint64_t bytes);
  const FileChecksums& sums() const { return sums_; }

 private:
  FileChecksums sums_;
};

uint32_t checksum_of(const void* data, uint64_t bytes);
/// Computes the checksums of a whole file. Errors: [weights/unreadable].
FileChecksums checksums_of_file(const std::string& path);

/// Returns eight hexadecimal digits per block, concatenated.
std::string checksums_text(const std::vector<uint32_t>& blocks);
/// Parses the result of checksums_text. Returns false when `text` has another form.
bool parse_checksums(std::string_view text, std::vector<uint32_t>& blocks);

}  // namespace s2s
