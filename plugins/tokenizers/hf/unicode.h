#pragma once
// UTF-8 and character properties as the `tokenizers` package sees them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace s2s::hf_plugin {

/// The code point that starts at `text[at]` and its number of bytes. `text` is valid UTF-8.
struct CodePoint {
  char32_t value;
  size_t size;
};
CodePoint code_point_at(std::string_view text, size_t at);
/// The code point that ends before `text[end]`; end > 0.
CodePoint code_point_before(std::string_view text, size_t end);
void append_utf8(char32_t code, std::string& out);

/// True when every byte belongs to a well-formed character.
bool is_valid_utf8(std::string_view text);
/// Each ill-formed part as U+FFFD: one for each longest start of a character that breaks off, else
/// one for each byte. Source: the Unicode standard, "U+FFFD substitution of maximal subparts".
std::string valid_utf8(std::string_view text);

bool is_white_space(char32_t code);
/// A letter, mark, decimal digit, connector or joiner: what `single_word` must not touch.
bool is_word(char32_t code);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
std::string normalize(std::string_view text, NormalForm form);
std::string lowercase(std::string_view text);

}  // namespace s2s::hf_plugin
