#include "jinja/string_literal.h"

#include <algorithm>
#include <optional>

#include "base/utf8_reader.h"
#include "jinja/template_error.h"

namespace s2s::jinja {
namespace {

std::optional<uint32_t> digit_of(char c, uint32_t base) {
  uint32_t value = base;
  if (c >= '0' && c <= '9') value = static_cast<uint32_t>(c - '0');
  if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') value = static_cast<uint32_t>((c | 0x20) - 'a') + 10;
  return value < base ? std::optional(value) : std::nullopt;
}

/// Removes a number of `least` to `most` digits from the front of `text`.
std::optional<uint32_t> take_number(std::string_view& text, uint32_t base, size_t least,
                                    size_t most) {
  uint32_t number = 0;
  size_t count = 0;
  for (; count < std::min(most, text.size()); ++count) {
    const auto digit = digit_of(text[count], base);
    if (!digit) break;
    number = number * base + *digit;
  }
  if (count < least) return std::nullopt;
  text.remove_prefix(count);
  return number;
}

/// Parses an escape after its backslash. Nothing: it is not an escape.
std::optional<std::string> take_escape(std::string_view& text, int64_t line) {
  constexpr std::string_view kNames = "\\'\"abfnrtv", kValues = "\\'\"\a\b\f\n\r\t\v";
  const char c = text.front();
  if (const size_t at = kNames.find(c); at != std::string_view::npos) {
    text.remove_prefix(1);
    return std::string(1, kValues[at]);
  }
  if (c == '\n') {
    text.remove_prefix(1);
    return "";
  }
  if (const auto octal = take_number(text, 8, 1, 3)) return utf8_character(*octal);
  const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (digits == 0) return std::nullopt;
  text.remove_prefix(1);
  const auto code = take_number(text, 16, digits, digits);
  if (!code || *code > 0x10FFFF || (*code >= 0xD800 && *code < 0xE000)) {
    throw TemplateError("a string has an escape that is no character", line);
  }
  return utf8_character(*code);
}

}  // namespace

std::string unescape(std::string_view text, int64_t line) {
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    const auto escape =
        c == '\\' && !text.empty() ? take_escape(text, line) : std::optional<std::string>();
    out += escape ? *escape : std::string(1, c);
  }
  return out;
}

}  // namespace s2s::jinja
