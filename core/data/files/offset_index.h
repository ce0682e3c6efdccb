#pragma once
// The begin of each row of a file: Lhotse's `.idx` files, with N + 1 little-endian 64-bit offsets.
// The last offset is the file's size.

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "files/index_place.h"

namespace s2s::files {

class OffsetIndex {
 public:
  OffsetIndex() = default;
  /// `bytes` are inside `owner`, which keeps them alive.
  OffsetIndex(std::shared_ptr<const void> owner, std::string_view bytes);

  /// Number of rows.
  int64_t size() const { return size_; }
  /// First byte of a row; for row size() the end.
  int64_t begin(int64_t row) const;
  int64_t end(int64_t row) const { return begin(row + 1); }

 private:
  std::shared_ptr<const void> owner_;
  const char* bytes_ = nullptr;
  int64_t size_ = 0;
};

/// How the last offset relates to the file's size.
enum class IndexEnd { kExact, kWithinFile };

/// Returns why these bytes are not an index of a file of that size, or nothing if they are. It
/// checks only a few rows.
std::optional<std::string> index_problem(std::string_view bytes, int64_t file_bytes, IndexEnd end);

/// Returns the index beside the file or in the cache folder, if it fits and is not older than the
/// file. `fits` checks more than size and order.
std::optional<OffsetIndex> find_index(const DiskFile& file, IndexEnd end,
                                      const std::function<bool(const OffsetIndex&)>& fits);

/// Collects offsets in the format of the file.
class OffsetWriter {
 public:
  explicit OffsetWriter(std::function<void(std::string_view)> append)
      : append_(std::move(append)) {}
  void add(int64_t offset);
  /// To be called after the last offset.
  void flush();
  int64_t count() const { return count_; }

 private:
  std::function<void(std::string_view)> append_;
  std::string buffer_;
  int64_t count_ = 0;
};

}  // namespace s2s::files
