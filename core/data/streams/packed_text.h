#pragma once
// Stores numbers as short text for saved positions, which are JSON and hold thousands of numbers.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::data {

/// Collects numbers. Small integers take one byte, doubles take eight.
class PackedWriter {
 public:
  void add(int64_t number);
  void add_double(double number);
  void add_word(uint32_t word);
  /// Adds the length, then the numbers.
  void add_all(std::span<const int64_t> numbers);
  /// Returns the numbers as base64.
  std::string text() const;

 private:
  std::string bytes_;
};

/// Reads the numbers in the order in which they were added.
class PackedReader {
 public:
  /// Errors, here and in all functions: [data/position] when PackedWriter did not write the text.
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
