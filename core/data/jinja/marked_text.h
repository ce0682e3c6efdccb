#pragma once
// Text with marks of where its parts came from. Concatenation, slices and other operations keep
// them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/meter.h"

namespace s2s::jinja {

/// The bytes [begin, end) of a text came from source `tag`.
struct Mark {
  size_t begin = 0;
  size_t end = 0;
  int64_t tag = 0;
};

/// UTF-8 with marks that are ordered by begin. Its memory is counted before it is allocated.
class MarkedText {
 public:
  MarkedText() = default;
  explicit MarkedText(std::string bytes, std::vector<Mark> marks = {})
      : held_(bytes.size() + marks.size() * sizeof(Mark)),
        bytes_(std::move(bytes)),
        marks_(std::move(marks)) {}
  explicit MarkedText(std::string_view bytes) : held_(bytes.size()), bytes_(bytes) {}
  explicit MarkedText(const char* bytes) : MarkedText(std::string_view(bytes)) {}
  /// Makes a text of which all is from one source. An empty text keeps its mark.
  static MarkedText from(std::string bytes, int64_t tag);

  const std::string& bytes() const { return bytes_; }
  const std::vector<Mark>& marks() const { return marks_; }
  size_t size() const { return bytes_.size(); }
  /// Bytes of memory that the text takes.
  size_t weight() const { return bytes_.size() + marks_.size() * sizeof(Mark); }

  void append(std::string_view bytes) {
    held_.cover(weight() + bytes.size());
    bytes_ += bytes;
  }
  void append(const MarkedText& other);
  /// Counts and allocates memory for text that will be appended.
  void reserve(size_t num_bytes) {
    held_.cover(num_bytes);
    bytes_.reserve(num_bytes);
  }
  /// Returns bytes [begin, end). A mark of which nothing remains is dropped.
  MarkedText slice(size_t begin, size_t end) const;
  /// Marks the bytes from `begin` to the end.
  void mark_from(size_t begin, int64_t tag);
  /// Replaces the bytes by others of the same number, and keeps the marks.
  MarkedText with_bytes(std::string bytes) const;

 private:
  Held held_;  // the first member, so that a copy is counted before it is made
  std::string bytes_;
  std::vector<Mark> marks_;
};

}  // namespace s2s::jinja
