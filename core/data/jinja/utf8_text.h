#pragma once
// Strings as Python sees them: characters, not bytes.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/value.h"

namespace s2s::jinja {

/// The first byte of each character, and the number of bytes.
std::vector<size_t> character_places(std::string_view text);
size_t num_characters(std::string_view text);

/// Without white space, or without the characters of `chars` when there are some.
enum class Side { kBoth, kLeft, kRight };
MarkedText strip(const MarkedText& text, Side side, const std::string* chars = nullptr);

/// ASCII and Latin, Greek and Cyrillic letters; marks are kept where the number of bytes is.
enum class Case { kUpper, kLower, kCapitalized, kTitle };
MarkedText with_case(const MarkedText& text, Case wanted);

/// format % values, with %s %r %d %i %f %x %%. Errors: TemplateError.
std::string percent_format(std::string_view format, const Value& values);

}  // namespace s2s::jinja
