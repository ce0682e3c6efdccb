#include "weights/block_checksums.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "base/number_text.h"
#include "weights/weight_mapping.h"

namespace s2s {
namespace {

constexpr size_t kDigits = 8;

uint32_t continue_checksum(uint32_t sum, const void* data, uint64_t bytes) {
  const auto* const begin = static_cast<const Bytef*>(data);
  return static_cast<uint32_t>(crc32_z(sum, begin, static_cast<z_size_t>(bytes)));
}

}  // namespace

void ChecksumStream::add(const void* data, uint64_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const uint64_t in_block = sums_.bytes % kChecksumBlockBytes;
    const uint64_t count = std::min(bytes, kChecksumBlockBytes - in_block);
    if (in_block == 0) sums_.blocks.push_back(0);
    sums_.blocks.back() = continue_checksum(sums_.blocks.back(), next, count);
    sums_.bytes += count;
    next += count;
    bytes -= count;
  }
}

uint32_t checksum_of(const void* data, uint64_t bytes) { return continue_checksum(0, data, bytes); }

FileChecksums checksums_of_file(const std::string& path) {
  const WeightMapping mapping(path);
  ChecksumStream stream;
  std::vector<char> block(std::min(kChecksumBlockBytes, mapping.size()));
  for (uint64_t begin = 0; begin < mapping.size(); begin += kChecksumBlockBytes) {
    const uint64_t count = std::min(kChecksumBlockBytes, mapping.size() - begin);
    // Not through mapped pages: the file may be truncated meanwhile.
    mapping.read(begin, count, block.data());
    stream.add(block.data(), count);
  }
  return stream.sums();
}

std::string checksums_text(const std::vector<uint32_t>& blocks) {
  std::string text;
  text.reserve(blocks.size() * kDigits);
  for (const uint32_t block : blocks) text += fmt::format("{:08x}", block);
  return text;
}

bool parse_checksums(std::string_view text, std::vector<uint32_t>& blocks) {
  if (text.size() % kDigits != 0) return false;
  blocks.clear();
  for (size_t i = 0; i < text.size(); i += kDigits) {
    const auto value = read_number<uint32_t>(text.substr(i, kDigits), 16);
    if (!value) return false;
    blocks.push_back(*value);
  }
  return true;
}

}  // namespace s2s
