#include "base/appended_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/io_errors.h"
#include "s2s/foreign_text.h"
#include "s2s/interrupted_calls.h"

namespace s2s {

AppendedLines::AppendedLines(const std::string& path, size_t max_line_bytes)
    : path_(path), file_(path), max_line_bytes_(max_line_bytes) {}

size_t AppendedLines::read(size_t at, char* into, size_t num_bytes) {
  size_t length = 0;
  InterruptedCalls interrupted;
  while (length < num_bytes) {
    const ssize_t got = ::pread(file_.descriptor(), into + length, num_bytes - length,
                                static_cast<off_t>(at + length));
    if (got < 0 && interrupted.again()) continue;
    if (got < 0) file_.fail(errno);
    if (got == 0) break;
    interrupted.reset();
    length += static_cast<size_t>(got);
  }
  bytes_read_ += length;
  return length;
}

void AppendedLines::fail_too_long(size_t at) const {
  throw line_error(printable_name(path_), at, max_line_bytes_);
}

std::optional<FileLine> AppendedLines::next() {
  size_t searched = taken_;
  for (;;) {
    const size_t found = ahead_.find('\n', searched);
    if (found != std::string::npos) {
      const FileLine line{std::string_view(ahead_).substr(taken_, found - taken_), next_,
                          next_ + found + 1 - taken_, true};
      taken_ = found + 1;
      next_ = line.end;
      return line;
    }
    ahead_.erase(0, taken_);
    taken_ = 0;
    searched = ahead_.size();
    if (searched > max_line_bytes_) fail_too_long(next_);
    const size_t at = next_ + searched;
    const size_t wanted = std::min(kBlockBytes, size() - std::min(at, size()));
    ahead_.resize(searched + wanted);
    ahead_.resize(searched + read(at, ahead_.data() + searched, wanted));
    if (ahead_.size() > searched) continue;
    if (ahead_.empty()) return std::nullopt;
    const FileLine line{ahead_, next_, next_ + ahead_.size(), false};
    taken_ = ahead_.size();
    next_ = line.end;
    return line;
  }
}

void AppendedLines::go_back_to(size_t end) {
  before_.clear();
  previous_ = std::min(end, size());
}

std::optional<FileLine> AppendedLines::previous() {
  if (!previous_) go_back_to(size());
  const size_t end = *previous_;
  if (end == 0) return std::nullopt;
  size_t searched = 1;  // the last byte always belongs to the line
  for (;;) {
    const size_t length = before_.size();
    const std::string_view open =
        std::string_view(before_).substr(0, length - std::min(length, searched));
    const size_t found = open.rfind('\n');
    if (found != std::string_view::npos || length == end) {
      const size_t at = found == std::string_view::npos ? 0 : found + 1;
      const bool is_complete = before_.back() == '\n';
      line_.assign(before_, at, length - at - (is_complete ? 1 : 0));
      before_.resize(at);
      previous_ = end - (length - at);
      return FileLine{line_, *previous_, end, is_complete};
    }
    if (length > max_line_bytes_) fail_too_long(end - length);
    searched = std::max<size_t>(length, 1);
    const size_t wanted = std::min(std::max(kBlockBytes, length), end - length);
    std::string block(wanted, '\0');
    if (read(end - length - wanted, block.data(), wanted) < wanted) file_.fail(ESTALE);
    before_.insert(0, block);
  }
}

std::optional<size_t> AppendedLines::rfind(std::string_view word, size_t before, size_t from) {
  constexpr size_t kSearchBytes = size_t{1} << 20;
  std::string block;
  // A word begins before `end`, and its last bytes may be in the block that was searched before.
  for (size_t end = std::min(before, size()); end > from;) {
    const size_t begin = end - std::min(end - from, kSearchBytes);
    block.resize(std::min(end + word.size() - 1, size()) - begin);
    block.resize(read(begin, block.data(), block.size()));
    std::optional<size_t> last;
    for (size_t at = 0; at < block.size();) {
      const void* const found =
          ::memmem(block.data() + at, block.size() - at, word.data(), word.size());
      if (found == nullptr) break;
      last = static_cast<size_t>(static_cast<const char*>(found) - block.data());
      at = *last + 1;
    }
    if (last) return begin + *last;
    end = begin;
  }
  return std::nullopt;
}

}  // namespace s2s
