#pragma once
// Small services on UTF-8 text that metrics need to agree with Python's str methods.

#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// Words of a text: split at Unicode white space as Python's str.split() does.
std::vector<std::string> split_words(std::string_view text);

/// Code points of a text; each broken byte becomes U+FFFD.
std::vector<char32_t> decode_utf8(std::string_view text);

/// UTF-8 of code points.
std::string encode_utf8(const std::vector<char32_t>& code_points);

/// Lower case, code point by code point (no context rules: a final sigma is a plain sigma).
std::vector<char32_t> to_lower(std::vector<char32_t> code_points);

/// White space as in Python's str.isspace().
bool is_white_space(char32_t code_point);

}  // namespace s2s
