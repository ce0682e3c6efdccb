#pragma once
// UTF-8 functions that agree with Python's str methods.

#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// Returns the code points of a text. Each invalid byte becomes U+FFFD.
std::vector<char32_t> decode_utf8(std::string_view text);

/// Returns the UTF-8 encoding of code points.
std::string encode_utf8(const std::vector<char32_t>& code_points);

/// Returns the lower case of each code point. No context rules: a final sigma becomes a sigma.
std::vector<char32_t> to_lower(std::vector<char32_t> code_points);

/// Returns true for white space as in Python's str.isspace().
bool is_white_space(char32_t code_point);

}  // namespace s2s
