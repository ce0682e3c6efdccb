#pragma once
// Text that knows where parts of it came from, through concatenation, slices and the like.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/meter.h"

namespace s2s::jinja {

/// The bytes [begin, end) of a text came from the place `tag`.
struct Mark {
  size_t begin = 0;
  size_t end = 0;
  int64_t tag = 0;
};

/// UTF-8 with marks, ordered by begin. Its memory is counted before it is taken.
class MarkedText {
 public:
  MarkedText() = default;
  explicit MarkedText(std::string bytes, std::vector<Mark> marks = {})
      : held_(bytes.size() + marks.size() * sizeof(Mark)),
        bytes_(std::move(bytes)),
        marks_(std::move(marks)) {}
  explicit MarkedText(std::string_view bytes) : held_(bytes.size()), bytes_(bytes) {}
  explicit MarkedText(const char* bytes) : MarkedText(std::string_view(bytes)) {}
  /// All of it is from one place. An empty text keeps its mark.
  static MarkedText from(std::string bytes, int64_t tag);

  const std::string& bytes() const { return bytes_; }
  const std::vector<Mark>& marks() const { return marks_; }
  size_t size() const { return bytes_.size(); }
  /// Bytes of memory that it takes.
  size_t weight() const { return bytes_.size() + marks_.size() * sizeof(Mark); }

  void append(std::string_view bytes) {
    held_.cover(weight() + bytes.size());
    bytes_ += bytes;
  }
  void append(const MarkedText& other);
  /// Counts and takes the memory of what will be appended.
  void reserve(size_t num_bytes) {
    held_.cover(num_bytes);
    bytes_.reserve(num_bytes);
  }
  /// Bytes [begin, end). A mark of which nothing is left is dropped.
  MarkedText slice(size_t begin, size_t end) const;
  /// Marks the bytes from `begin` to the end.
  void mark_from(size_t begin, int64_t tag);
  /// Other bytes of the same number, at the same places.
  MarkedText with_bytes(std::string bytes) const;

 private:
  Held held_;  // first: a copy is counted before it is made
  std::string bytes_;
  std::vector<Mark> marks_;
};

}  // namespace s2s::jinja
