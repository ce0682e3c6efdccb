#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace s2s::jinja {

/// What stands between the quotes of a string, with Python's escapes resolved.
/// Errors: TemplateError for a number that is no character.
std::string unescape(std::string_view text, int64_t line);
/// UTF-8 of a code point.
std::string character_of(uint32_t code);

}  // namespace s2s::jinja
