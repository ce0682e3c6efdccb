#pragma once
// Reads and writes UTF-8 one character at a time. Texts that are read may be invalid.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace s2s {

/// The first character of a text.
struct Utf8Character {
  enum Kind {
    kValid,
    kInvalid,  // a byte that does not begin a character
    kCut,      // the text ends within a character that may be valid
  };
  Kind kind = kInvalid;
  uint32_t code = 0;     // if the character is valid
  size_t num_bytes = 1;  // number of bytes to skip
};

/// Returns the first character of `text`, which must not be empty. Surrogates, codes above U+10FFFF
/// and characters that are longer than necessary are not valid.
inline Utf8Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {Utf8Character::kValid, lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const size_t num_bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  uint32_t code = lead & (0x7FU >> num_bytes);
  for (size_t i = 1; i < num_bytes; ++i) {
    if (i == text.size()) return {Utf8Character::kCut, 0, text.size()};
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1 && lead == 0xE0) low = 0xA0;
    if (i == 1 && lead == 0xED) high = 0x9F;  // surrogates
    if (i == 1 && lead == 0xF0) low = 0x90;
    if (i == 1 && lead == 0xF4) high = 0x8F;  // above U+10FFFF
    if (byte(i) < low || byte(i) > high) return {};
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  return {Utf8Character::kValid, code, num_bytes};
}

/// Returns the number of bytes before the first invalid or incomplete character; the length if
/// there is none.
inline size_t valid_utf8_bytes(std::string_view text) {
  size_t done = 0;
  while (done < text.size()) {
    const Utf8Character next = first_character(text.substr(done));
    if (next.kind != Utf8Character::kValid) break;
    done += next.num_bytes;
  }
  return done;
}

/// Returns a code point in UTF-8.
inline std::string utf8_character(uint32_t code) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

/// Whether a character moves the cursor, ends a line or changes the direction of the text after it.
constexpr bool is_control_character(uint32_t code) {
  constexpr uint32_t kRanges[][2] = {{0, 0x1F},        {0x7F, 0x9F},     {0x61C, 0x61C},
                                     {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2066, 0x2069},
                                     {0xFEFF, 0xFEFF}};
  for (const auto& range : kRanges) {
    if (code >= range[0] && code <= range[1]) return true;
  }
  return false;
}

}  // namespace s2s
