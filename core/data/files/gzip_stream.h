#pragma once
// Inflates gzip files from beginning to end. Several members give one content.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "files/byte_file.h"
#include "s2s/error.h"

namespace s2s::files {

bool is_gzip(std::string_view first_bytes);

/// A position in a gzip file at which inflating can begin.
struct GzipPoint {
  int64_t in = 0;      // offset of the first whole byte in the file
  int64_t out = 0;     // offset in the content
  int bits = 0;        // unused bits of the byte before `in`; kMemberStart: a header is at `in`
  std::string window;  // the content's last 32 KB before `out`
  static constexpr int kMemberStart = -1;
};

class GzipApart;

/// If parsers run in their own process (base/parser_process.h), inflates there.
class GzipStream {
 public:
  /// Begins at the start of the file. `file` must outlive the stream.
  explicit GzipStream(const ByteFile& file);
  GzipStream(const ByteFile& file, const GzipPoint& point);
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  /// Reads up to `num_bytes` of content. Reads fewer only at the end, or after a block with
  /// `stop_at_block`.
  /// Errors: std::runtime_error with the reason when the file is damaged. The caller knows which
  /// content is good and throws [data/gzip].
  size_t read(char* to, size_t num_bytes, bool stop_at_block = false);
  bool at_end() const;
  int64_t in() const;
  int64_t out() const;
  /// Whether a point can be taken here (after `read` with `stop_at_block`).
  bool at_point() const;
  GzipPoint point() const;

 private:
  struct State;
  size_t read_here(char* to, size_t num_bytes, bool stop_at_block);
  bool refill();
  bool begin_member();
  void finish_member();
  void restart_at(const GzipPoint& point);

  const ByteFile& file_;
  std::unique_ptr<GzipApart> apart_;  // replaces all members below
  std::unique_ptr<State> state_;
  int64_t out_ = 0;
  bool at_end_ = false;
};

/// Limits of decompressed content. Deflate can make a thousand bytes of one; manifests have ratios
/// of ten to thirty.
inline constexpr int64_t kContentBytes = int64_t{256} << 20;  // always allowed
inline constexpr int64_t kMostRatio = 100;                    // for more than kContentBytes
inline constexpr int64_t kMostHeldBytes = int64_t{4} << 30;   // in memory at once

/// Maximum content of a compressed file of this size, for decompression into memory or to lines.
int64_t most_content_bytes(int64_t compressed_bytes);

/// Thrown by inflate_whole if the content exceeds its limit.
struct TooMuchContent {};

struct InflateOptions {
  bool with_lines = false;
  /// Called for a damaged file, whose complete lines before the damage (with_lines), or all bytes
  /// that can be inflated, are then returned. If it is empty, the error is thrown.
  std::function<void(const Error&)> on_damage = {};
  int64_t most_bytes = kMostHeldBytes;
};

/// Returns the whole content. Errors: [data/gzip] with the last good line; TooMuchContent.
std::string inflate_whole(const ByteFile& file, const InflateOptions& options);

}  // namespace s2s::files
