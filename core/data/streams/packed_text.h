#pragma once
// Numbers as short text: positions hold thousands of them, and are JSON.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::data {

/// Collects numbers; small whole numbers take one byte, doubles eight.
class PackedWriter {
 public:
  void add(int64_t number);
  void add_double(double number);
  void add_word(uint32_t word);
  /// Its length first.
  void add_all(std::span<const int64_t> numbers);
  /// Base64 of what was added.
  std::string text() const;

 private:
  std::string bytes_;
};

/// Takes the numbers out again, in their order.
class PackedReader {
 public:
  /// Errors: [data/position] when the text is not one of PackedWriter's, also in all that follows.
  explicit PackedReader(std::string_view text);
  int64_t next();
  double next_double();
  uint32_t next_word();
  std::vector<int64_t> next_all();
  bool at_end() const { return position_ == bytes_.size(); }

 private:
  uint8_t next_byte();
  std::string bytes_;
  size_t position_ = 0;
};

}  // namespace s2s::data
