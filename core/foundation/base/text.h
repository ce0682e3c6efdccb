#pragma once
/// @file Small functions on texts.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// Whether `text` is one of `list`.
inline bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// Converts the letters A to Z to lower case, independent of the locale.
inline std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

/// The ASCII characters that Python's str.strip removes.
constexpr std::string_view kPythonBlanks = " \t\r\n\v\f";

/// Removes the characters of `blanks` from both ends.
inline std::string stripped(const std::string& text, std::string_view blanks = " \t\r\n") {
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Whether a line has only spaces, tabs and a carriage return.
inline bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// Returns `text` up to its first line break.
inline std::string first_line_in(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Returns two digits, 0 to 9 and a to f, for each byte.
inline std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(text), "{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

/// Joins a list: "a, b, c" for the separator ", ".
inline std::string joined(const std::vector<std::string>& list, std::string_view separator) {
  std::string out;
  for (const std::string& text : list) out.append(out.empty() ? "" : separator).append(text);
  return out;
}

/// Escapes `text` for HTML, between tags or in a quoted attribute.
inline std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes as base64 of RFC 4648, with padding.
inline std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  const auto byte_at = [&](size_t i) -> uint32_t {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0;
  };
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const uint32_t group = byte_at(i) << 16 | byte_at(i + 1) << 8 | byte_at(i + 2);
    out += kBase64Digits[group >> 18];
    out += kBase64Digits[group >> 12 & 63];
    out += i + 1 < bytes.size() ? kBase64Digits[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kBase64Digits[group & 63] : '=';
  }
  return out;
}

/// Decodes base64 without padding. Nothing for a text with another character.
inline std::optional<std::string> from_base64(std::string_view text) {
  static constexpr auto kValues = [] {
    std::array<int8_t, 256> values{};
    values.fill(-1);
    for (size_t i = 0; i < kBase64Digits.size(); ++i) {
      values[static_cast<unsigned char>(kBase64Digits[i])] = static_cast<int8_t>(i);
    }
    return values;
  }();
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int num_bits = 0;
  for (const char digit : text) {
    const int8_t value = kValues[static_cast<unsigned char>(digit)];
    if (value < 0) return std::nullopt;
    bits = (bits << 6) | static_cast<uint32_t>(value);
    num_bits += 6;
    if (num_bits < 8) continue;
    num_bits -= 8;
    bytes.push_back(static_cast<char>(bits >> num_bits));
  }
  return bytes;
}

/// Removes the padding of base64.
inline std::string_view without_padding(std::string_view base64) {
  while (base64.ends_with('=')) base64.remove_suffix(1);
  return base64;
}

/// "1 cut", "2 cuts"
inline std::string counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace s2s
