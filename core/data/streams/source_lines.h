#pragma once
// Many line files as one: opened when they are needed, the last few stay open.

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "files/line_file.h"

namespace s2s::data {

/// Thread-safe.
class LineFiles {
 public:
  /// `expected`: what is said when one is missing. `on_damage`: files::OpenOptions.
  LineFiles(std::vector<std::string> paths, std::string expected, files::OnBad on_damage = {});

  size_t size() const { return paths_.size(); }
  const std::string& path(size_t file) const { return paths_[file]; }
  /// Errors: those of files::open_line_file.
  std::shared_ptr<const files::LineFile> open(size_t file) const;
  /// Lines of all files; opens each once.
  int64_t num_lines() const;

 private:
  struct Open {
    size_t file;
    std::shared_ptr<const files::LineFile> lines;
  };

  std::vector<std::string> paths_;
  std::string expected_;
  files::OpenOptions options_;
  mutable std::mutex mutex_;
  mutable std::list<Open> open_;  // the most recently used first
};

/// Of a file's name, without its folder, and its size; of a command's text.
uint64_t file_fingerprint(const std::string& path);
uint64_t files_fingerprint(const std::vector<std::string>& paths);

/// How lhotse's LazyIteratorChain orders its parts: each pass shuffles the last one's order.
class ShuffledParts {
 public:
  ShuffledParts(size_t count, bool shuffle, int64_t seed);
  const std::vector<size_t>& of_pass(int64_t epoch);

 private:
  size_t count_;
  bool shuffle_;
  int64_t seed_;
  int64_t num_shuffles_ = 0;
  std::vector<size_t> order_;
};

}  // namespace s2s::data
