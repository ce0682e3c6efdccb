#include "eval/text/unicode_text.h"

#include <utf8proc.h>

#include <iterator>

#include "s2s/scores/texts.h"

namespace s2s {

namespace {

constexpr char32_t kReplacement = 0xFFFD;

}  // namespace

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  if (c == 0x85) return true;
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

std::vector<char32_t> decode_utf8(std::string_view text) {
  std::vector<char32_t> out;
  out.reserve(text.size());
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (size_t i = 0; i < text.size();) {
    utf8proc_int32_t c = -1;
    const utf8proc_ssize_t used =
        utf8proc_iterate(bytes + i, static_cast<utf8proc_ssize_t>(text.size() - i), &c);
    out.push_back(used > 0 ? static_cast<char32_t>(c) : kReplacement);
    i += used > 0 ? static_cast<size_t>(used) : 1;
  }
  return out;
}

std::string encode_utf8(const std::vector<char32_t>& code_points) {
  std::string out;
  out.reserve(code_points.size());
  utf8proc_uint8_t buffer[4];
  for (const char32_t c : code_points) {
    const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), buffer);
    out.append(reinterpret_cast<const char*>(buffer), static_cast<size_t>(size));
  }
  return out;
}

std::vector<char32_t> to_lower(std::vector<char32_t> code_points) {
  for (char32_t& c : code_points) {
    c = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  }
  return code_points;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::vector<char32_t> word;
  const auto flush = [&] {
    if (!word.empty()) words.push_back(encode_utf8(word));
    word.clear();
  };
  for (const char32_t c : decode_utf8(text)) {
    if (is_white_space(c)) {
      flush();
    } else {
      word.push_back(c);
    }
  }
  flush();
  return words;
}

}  // namespace s2s
