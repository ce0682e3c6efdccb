#pragma once
// The lines of several files with consecutive numbers.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "files/line_file.h"
#include "text/document_encoder.h"

namespace s2s::data {

class TextFiles {
 public:
  /// `key` names the option with the paths in messages.
  /// Errors: [data/missing-file], [data/gzip], [io/file].
  explicit TextFiles(const std::vector<std::string>& paths, const std::string& key = "its path");

  int64_t size() const { return begins_.back(); }
  /// Errors: [data/index], [io/file].
  std::string line(int64_t number) const;
  LineOrigin origin(int64_t number) const;
  /// Fingerprint of the files' sizes and numbers of lines.
  uint64_t fingerprint() const;

 private:
  size_t file_of(int64_t number) const;

  std::vector<std::shared_ptr<const files::LineFile>> files_;
  std::vector<int64_t> begins_;  // first line of each file, then the total number
};

}  // namespace s2s::data
