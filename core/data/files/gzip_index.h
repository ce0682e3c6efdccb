#pragma once
// Random access to large gzip files. The index has points every few megabytes of content at which
// inflating can begin, and the begin of each line. The access points are those of zlib's example
// zran.c.
//
// File (`.gzidx`, little-endian): offsets of lines (N + 1 64-bit numbers), the points' windows,
// each compressed, the points, and a footer with the sizes of these parts.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "files/byte_file.h"
#include "files/gzip_stream.h"
#include "files/index_place.h"
#include "files/offset_index.h"

namespace s2s::files {

class GzipIndex {
 public:
  /// Errors: std::runtime_error with the reason when the bytes are not an index.
  static GzipIndex parse(std::shared_ptr<const void> owner, std::string_view bytes);

  /// Size of the compressed file when the index was made.
  int64_t compressed_bytes() const { return compressed_bytes_; }
  uint64_t fingerprint() const { return fingerprint_; }
  int64_t content_bytes() const { return content_bytes_; }
  int64_t num_points() const { return num_points_; }
  /// Offset of block `i` in the content; block num_points() is the end.
  int64_t block_begin(int64_t i) const;
  /// The block that contains the byte at `offset` of the content.
  int64_t block_of(int64_t offset) const;
  /// Errors: std::runtime_error for a damaged window.
  GzipPoint point(int64_t i) const;
  /// Offsets of lines in the content; no rows if the index was made without lines.
  const OffsetIndex& lines() const { return lines_; }

 private:
  struct StoredPoint {
    uint64_t in, out;
    uint64_t window_begin;
    uint32_t window_bytes;
    int32_t bits;
  };
  friend class GzipIndexMaker;

  StoredPoint stored(int64_t i) const;

  std::shared_ptr<const void> owner_;
  std::string_view windows_;
  const char* points_ = nullptr;
  int64_t num_points_ = 0;
  int64_t compressed_bytes_ = 0;
  uint64_t fingerprint_ = 0;
  int64_t content_bytes_ = 0;
  OffsetIndex lines_;
};

/// A fingerprint of a file's size and its first and last bytes.
uint64_t file_fingerprint(const DiskFile& file);

/// Reads the whole file once and appends the index's bytes. With `with_lines` the index also has
/// the offsets of lines. If `options.on_damage` is set, the index of a damaged file has the
/// complete lines (or all bytes) before the damage.
/// Errors: [data/gzip] with the last good line.
void make_gzip_index(const DiskFile& file, bool with_lines, int64_t block_bytes,
                     const OpenOptions& options,
                     const std::function<void(std::string_view)>& append);

/// Content of a gzip file, which is read through its index. The index is made if there is none.
class GzipFile : public ByteFile {
 public:
  /// Errors: [data/missing-file], [io/file], [data/gzip].
  GzipFile(std::unique_ptr<DiskFile> file, bool with_lines, const OpenOptions& options);
  int64_t size() const override { return index_.content_bytes(); }
  void read(int64_t offset, void* to, size_t num_bytes) const override;
  const OffsetIndex& lines() const { return index_.lines(); }

 private:
  std::string inflate_block(int64_t block) const;

  std::unique_ptr<DiskFile> file_;
  std::shared_ptr<ByteCache> cache_;
  GzipIndex index_;
};

}  // namespace s2s::files
