#pragma once
// Text that knows where parts of it came from, through concatenation, slices and the like.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::jinja {

/// The bytes [begin, end) of a text came from the place `tag`.
struct Mark {
  size_t begin = 0;
  size_t end = 0;
  int64_t tag = 0;
};

/// UTF-8 with marks, ordered by begin.
class MarkedText {
 public:
  MarkedText() = default;
  explicit MarkedText(std::string bytes, std::vector<Mark> marks = {})
      : bytes_(std::move(bytes)), marks_(std::move(marks)) {}
  /// All of it is from one place. An empty text keeps its mark.
  static MarkedText from(std::string bytes, int64_t tag);

  const std::string& bytes() const { return bytes_; }
  const std::vector<Mark>& marks() const { return marks_; }
  size_t size() const { return bytes_.size(); }
  /// Bytes of memory that it takes.
  size_t weight() const { return bytes_.size() + marks_.size() * sizeof(Mark); }

  void append(std::string_view bytes) { bytes_ += bytes; }
  void append(const MarkedText& other);
  /// Bytes [begin, end). A mark of which nothing is left is dropped.
  MarkedText slice(size_t begin, size_t end) const;
  /// Marks the bytes from `begin` to the end.
  void mark_from(size_t begin, int64_t tag);
  /// Other bytes of the same number, at the same places.
  MarkedText with_bytes(std::string bytes) const;

 private:
  std::string bytes_;
  std::vector<Mark> marks_;
};

}  // namespace s2s::jinja
