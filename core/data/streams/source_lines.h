#pragma once
// Many line files as one. A file is opened when it is needed; the last `max_open` stay open.

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "files/line_file.h"

namespace s2s::data {

/// What is expected of NeMo's manifests, for messages.
constexpr const char* kNemoManifestExpected =
    "a NeMo manifest with a JSON object on each line; check manifest_filepath";

/// Thread-safe.
class LineFiles {
 public:
  static constexpr size_t kNoLimit = SIZE_MAX;

  /// `expected` is the text of the error of a missing file. `on_damage`: see files::OpenOptions.
  LineFiles(std::vector<std::string> paths, std::string expected, files::OnBad on_damage,
            size_t max_open = 32);

  size_t size() const { return paths_.size(); }
  const std::vector<std::string>& paths() const { return paths_; }
  const std::string& path(size_t file) const { return paths_[file]; }
  /// Errors: those of files::open_line_file.
  std::shared_ptr<const files::LineFile> open(size_t file) const;
  /// Counts the lines of all files; opens each file once.
  int64_t num_lines() const;

 private:
  struct Open {
    size_t file;
    std::shared_ptr<const files::LineFile> lines;
  };

  std::vector<std::string> paths_;
  std::string expected_;
  size_t max_open_;
  files::OpenOptions options_;
  mutable std::mutex mutex_;
  mutable std::list<Open> open_;  // the most recently used first
};

/// Fingerprint of a file's name (without its folder) and size, or of a command's text.
uint64_t file_fingerprint(const std::string& path);
uint64_t files_fingerprint(const std::vector<std::string>& paths);

}  // namespace s2s::data
