#include "text/text_files.h"

#include <algorithm>

#include "base/fnv.h"

namespace s2s::data {

TextFiles::TextFiles(const std::vector<std::string>& paths, const std::string& key) : begins_{0} {
  const std::string expected =
      "a JSONL file with one document in each line (.jsonl, .jsonl.gz); check " + key;
  for (const std::string& path : paths) {
    files_.push_back(files::open_line_file(path, {}, expected));
    begins_.push_back(begins_.back() + files_.back()->size());
  }
}

size_t TextFiles::file_of(int64_t number) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), number);
  return static_cast<size_t>(after - begins_.begin()) - 1;
}

std::string TextFiles::line(int64_t number) const {
  const size_t file = file_of(number);
  return files_[file]->line(number - begins_[file]);
}

LineOrigin TextFiles::origin(int64_t number) const {
  const size_t file = file_of(number);
  return {files_[file]->path(), number - begins_[file] + 1};
}

uint64_t TextFiles::fingerprint() const {
  std::string facts;
  for (const auto& file : files_) {
    facts += std::to_string(file->size()) + " " + std::to_string(file->offset(file->size())) + " ";
  }
  return fnv1a(facts);
}

}  // namespace s2s::data
