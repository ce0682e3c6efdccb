#pragma once
// A GzipStream that inflates in a parser process.

#include <cstdint>
#include <optional>

#include "base/parser_process.h"
#include "files/gzip_stream.h"

namespace s2s::files {

class GzipApart {
 public:
  /// Begins at the file's start, or at `point`. Errors: [untrusted/parser], those of `file`.
  GzipApart(const ByteFile& file, const std::optional<GzipPoint>& point);

  /// Works like GzipStream::read. Errors: those of that function; [untrusted/parser].
  size_t read(char* to, size_t num_bytes, bool stop_at_block);
  bool at_end() const { return at_end_; }
  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  bool at_point() const { return point_.has_value(); }
  GzipPoint point() const { return point_.value_or(GzipPoint()); }

 private:
  ParserProcess process_;
  bool at_end_ = false;
  int64_t in_ = 0, out_ = 0;
  std::optional<GzipPoint> point_;  // set after `read` with `stop_at_block`
};

}  // namespace s2s::files
