#pragma once
/// @file Small questions about texts.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// Whether `text` is one of `list`.
inline bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// The letters A to Z in lower case; the others as they are, in any locale.
inline std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// What Python's str.strip takes away of ASCII.
constexpr std::string_view kPythonBlanks = " \t\r\n\v\f";

/// `text` without the characters of `blanks` at both ends.
inline std::string stripped(const std::string& text, std::string_view blanks = " \t\r\n") {
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// "a, b, c" of a list, with `separator` between two texts.
inline std::string joined(const std::vector<std::string>& list, std::string_view separator) {
  std::string out;
  for (const std::string& text : list) out.append(out.empty() ? "" : separator).append(text);
  return out;
}

/// "1 cut", "2 cuts"
inline std::string counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace s2s
