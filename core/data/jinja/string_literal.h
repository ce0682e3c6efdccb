#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace s2s::jinja {

/// Replaces Python's escapes in the text between the quotes of a string.
/// Errors: TemplateError for a number that is not a character.
std::string unescape(std::string_view text, int64_t line);

}  // namespace s2s::jinja
