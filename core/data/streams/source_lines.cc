#include "streams/source_lines.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/fnv.h"
#include "files/byte_cache.h"
#include "s2s/error.h"

namespace s2s::data {

LineFiles::LineFiles(std::vector<std::string> paths, std::string expected, files::OnBad on_damage,
                     size_t max_open)
    : paths_(std::move(paths)), expected_(std::move(expected)), max_open_(max_open) {
  options_.cache = std::make_shared<files::ByteCache>();
  options_.on_damage = std::move(on_damage);
}

std::shared_ptr<const files::LineFile> LineFiles::open(size_t file) const {
  S2S_ASSERT(file < paths_.size(), "keys and states are of this stream");
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [file](const Open& open) { return open.file == file; });
  if (found != open_.end()) {
    open_.splice(open_.begin(), open_, found);
    return open_.front().lines;
  }
  open_.push_front({file, files::open_line_file(paths_[file], options_, expected_)});
  if (open_.size() > max_open_) open_.pop_back();
  return open_.front().lines;
}

int64_t LineFiles::num_lines() const {
  int64_t count = 0;
  for (size_t i = 0; i < size(); ++i) count += open(i)->size();
  return count;
}

uint64_t file_fingerprint(const std::string& path) {
  std::error_code error;
  const auto num_bytes = std::filesystem::file_size(path, error);
  const bool is_file = !error;
  const uint64_t name = fnv1a(is_file ? std::filesystem::path(path).filename().string() : path);
  return is_file ? fnv1a(std::to_string(num_bytes), name) : name;
}

uint64_t files_fingerprint(const std::vector<std::string>& paths) {
  uint64_t hash = kFnvStart;
  for (const std::string& path : paths) hash = fnv1a(std::to_string(file_fingerprint(path)), hash);
  return hash;
}

}  // namespace s2s::data
