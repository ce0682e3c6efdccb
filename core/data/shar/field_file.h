#pragma once
// One file of a shard while it is written.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/atomic_file.h"
#include "files/gzip_writer.h"
#include "files/tar_writer.h"

namespace s2s::data {

/// A tar, or JSON lines that are compressed or not, by the path's extension.
class SharFieldFile {
 public:
  explicit SharFieldFile(const std::string& path);

  /// Tar: data and manifest of a cut.
  void add_pair(const std::string& id, const std::string& extension, std::string_view data,
                std::string_view manifest);
  /// Tar: the cut has no such field.
  void add_absent(const std::string& id);
  void add_line(std::string_view line);
  /// Errors: [io/write].
  void commit(bool make_index);
  int64_t num_bytes() const { return num_bytes_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  AtomicFile file_;
  int64_t num_bytes_ = 0;
  std::optional<files::TarWriter> tar_;
  std::unique_ptr<files::GzipWriter> gzip_;
};

}  // namespace s2s::data
