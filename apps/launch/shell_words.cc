#include "launch/shell_words.h"

#include <algorithm>
#include <cctype>

namespace s2s::launch {
namespace {

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string("@%+=:,./-_").find(c) != std::string::npos;
}

}  // namespace

std::string shell_word(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + shell_word(word);
  return out;
}

std::string in_comment(const std::string& words) {
  std::string out;
  for (const char c : words) {
    // Words with control characters are in single quotes.
    if (c == '\n') out += "'$'\\n''";
    if (c == '\r') out += "'$'\\r''";
    if (c != '\n' && c != '\r') out += c;
  }
  return out;
}

size_t assignment(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return std::string::npos;
  const auto is_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  const bool is_valid =
      std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
      std::all_of(text.begin(), text.begin() + static_cast<long>(equals), is_name);
  return is_valid ? equals : std::string::npos;
}

}  // namespace s2s::launch
