#pragma once
// Time marks in the text of a turn: "<|12|> word <|15|>", in frames of 80 ms from its start.

#include <cstdint>
#include <string>
#include <vector>

namespace s2s::data {

/// Length of a time mark "<|digits|>" at `text[i]`, or 0.
size_t time_mark_bytes(const std::string& text, size_t i);

struct MarkedText {
  std::vector<std::string> words;
  std::vector<int64_t> marks;

  bool has_marks() const { return !marks.empty(); }
  /// Whether there are two marks for each word.
  bool is_complete() const { return has_marks() && marks.size() >= 2 * words.size(); }
};
MarkedText read_time_marks(const std::string& text);

}  // namespace s2s::data
