#pragma once
// Content of gzip files from the beginning to the end; several members one after the other are one
// content.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "files/byte_file.h"
#include "s2s/error.h"

namespace s2s::files {

bool is_gzip(std::string_view first_bytes);

/// A place in a gzip file from which inflating can begin.
struct GzipPoint {
  int64_t in = 0;   // offset of the first whole byte in the file
  int64_t out = 0;  // offset in the content
  int bits = 0;  // of the byte before `in` that are not used up; kMemberStart: a header is at `in`
  std::string window;  // the content's last 32 KB before `out`
  static constexpr int kMemberStart = -1;
};

class GzipApart;

/// Inflates in a parser process where parsers run apart (base/parser_process.h).
class GzipStream {
 public:
  /// Begins at the file's start. `file` must outlive the stream.
  explicit GzipStream(const ByteFile& file);
  GzipStream(const ByteFile& file, const GzipPoint& point);
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  /// Up to `num_bytes` of content; fewer only at the end, or after a block (`stop_at_block`).
  /// Errors: std::runtime_error with the reason when the file is damaged; whoever calls knows what
  /// of the content is good and throws [data/gzip].
  size_t read(char* to, size_t num_bytes, bool stop_at_block = false);
  bool at_end() const;
  int64_t in() const;
  int64_t out() const;
  /// A point here, if it is one (after `read` with `stop_at_block`).
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
  std::unique_ptr<GzipApart> apart_;  // in place of all below
  std::unique_ptr<State> state_;
  int64_t out_ = 0;
  bool at_end_ = false;
};

/// What decompression may give: deflate makes a thousand bytes of one, manifests ten to thirty.
inline constexpr int64_t kContentBytes = int64_t{256} << 20;  // always
inline constexpr int64_t kMostRatio = 100;                    // beyond kContentBytes
inline constexpr int64_t kMostHeldBytes = int64_t{4} << 30;   // at once, in memory

/// Most content of a file of so many bytes that is decompressed into memory, or as lines.
int64_t most_content_bytes(int64_t compressed_bytes);

/// Thrown by inflate_whole for content beyond its limit.
struct TooMuchContent {};

struct InflateOptions {
  bool with_lines = false;
  /// Of a damaged file, its whole lines before the damage (with_lines) or all that could be
  /// inflated, and this is told. Empty: it is thrown.
  std::function<void(const Error&)> on_damage = {};
  int64_t most_bytes = kMostHeldBytes;
};

/// All of the content. Errors: [data/gzip] with the last good line; TooMuchContent.
std::string inflate_whole(const ByteFile& file, const InflateOptions& options);

}  // namespace s2s::files
