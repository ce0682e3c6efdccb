#include "files/offset_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "s2s/error.h"

namespace s2s::files {
namespace {

static_assert(std::endian::native == std::endian::little, "offsets are stored as they are");

constexpr size_t kOffsetBytes = sizeof(uint64_t);

uint64_t offset_at(std::string_view bytes, size_t row) {
  uint64_t offset = 0;
  std::memcpy(&offset, bytes.data() + row * kOffsetBytes, kOffsetBytes);
  return offset;
}

}  // namespace

OffsetIndex::OffsetIndex(std::shared_ptr<const void> owner, std::string_view bytes)
    : owner_(std::move(owner)),
      bytes_(bytes.data()),
      size_(static_cast<int64_t>(bytes.size() / kOffsetBytes) - 1) {
  S2S_ASSERT(size_ >= 0, "an index has at least the end");
}

int64_t OffsetIndex::begin(int64_t row) const {
  S2S_ASSERT(row >= 0 && row <= size_, "the caller knows the number of rows");
  constexpr uint64_t kAfterAnyFile = uint64_t{1} << 62;  // so that differences of offsets fit, too
  const std::string_view bytes(bytes_, kOffsetBytes * static_cast<size_t>(size_ + 1));
  return static_cast<int64_t>(std::min(offset_at(bytes, static_cast<size_t>(row)), kAfterAnyFile));
}

std::optional<std::string> index_problem(std::string_view bytes, int64_t file_bytes, IndexEnd end) {
  if (bytes.size() < kOffsetBytes || bytes.size() % kOffsetBytes != 0) {
    return "its length is no multiple of 8";
  }
  const size_t rows = bytes.size() / kOffsetBytes - 1;
  const uint64_t last = offset_at(bytes, rows);
  const auto size = static_cast<uint64_t>(file_bytes);
  if (last > size || (end == IndexEnd::kExact && last != size)) {
    return "its last offset is not the file's size";
  }
  constexpr size_t kLooks = 64;
  const size_t step = std::max<size_t>(1, rows / kLooks);
  for (size_t row = 0; row < rows; row += step) {
    if (offset_at(bytes, row) >= offset_at(bytes, row + 1)) return "its offsets do not grow";
  }
  return std::nullopt;
}

std::optional<OffsetIndex> find_index(const DiskFile& file, IndexEnd end,
                                      const std::function<bool(const OffsetIndex&)>& fits) {
  for (const std::string& path : index_paths(file, ".idx")) {
    const auto bytes = map_index(path);
    if (bytes == nullptr || index_problem(bytes->bytes(), file.size(), end)) continue;
    if (is_outdated(path, file)) continue;
    OffsetIndex index(bytes, bytes->bytes());
    if (fits(index)) return index;
  }
  return std::nullopt;
}

void OffsetWriter::add(int64_t offset) {
  constexpr size_t kBufferBytes = size_t{1} << 16;
  const auto value = static_cast<uint64_t>(offset);
  buffer_.append(reinterpret_cast<const char*>(&value), kOffsetBytes);
  ++count_;
  if (buffer_.size() >= kBufferBytes) flush();
}

void OffsetWriter::flush() {
  append_(buffer_);
  buffer_.clear();
}

}  // namespace s2s::files
