#pragma once
// UTF-8 and character properties as in the `tokenizers` package.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace s2s::hf {

/// The code point at `text[at]` and its number of bytes. `text` is valid UTF-8.
struct CodePoint {
  char32_t value;
  size_t size;
};
CodePoint code_point_at(std::string_view text, size_t at);
/// The code point before `text[end]`; end > 0.
CodePoint code_point_before(std::string_view text, size_t end);
void append_utf8(char32_t code, std::string& out);

bool is_valid_utf8(std::string_view text);
/// Replaces invalid parts by U+FFFD: one for each longest incomplete start of a character, else one
/// for each byte. Source: the Unicode standard, "U+FFFD substitution of maximal subparts".
std::string valid_utf8(std::string_view text);

bool is_white_space(char32_t code);
/// A letter, mark, decimal digit, connector or joiner: a `single_word` token must not be adjacent
/// to one.
bool is_word(char32_t code);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
std::string normalize(std::string_view text, NormalForm form);
std::string lowercase(std::string_view text);

}  // namespace s2s::hf
