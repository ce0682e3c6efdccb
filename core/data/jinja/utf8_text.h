#pragma once
// Strings as Python sees them: characters, not bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/value.h"

namespace s2s::jinja {

/// The first byte of each character, and the number of bytes. A text is shorter than 4 GB.
using CharacterPlaces = std::vector<uint32_t, Metered<uint32_t>>;
CharacterPlaces character_places(std::string_view text);
size_t num_characters(std::string_view text);

/// Without white space, or without the characters of `chars` when there are some.
enum class Side { kBoth, kLeft, kRight };
MarkedText strip(const MarkedText& text, Side side, const std::string* chars = nullptr);

/// Without white space on the right, and on the left; as Python's str.
std::string_view trimmed_right(std::string_view text);
std::string_view trimmed_left(std::string_view text);
/// Bytes of the white space at the front.
size_t leading_space(std::string_view text);

/// ASCII and Latin, Greek and Cyrillic letters; marks are kept where the number of bytes is.
/// kTitle: a word begins behind what is no letter; kWords: behind white space or -({[<.
enum class Case { kUpper, kLower, kCapitalized, kTitle, kWords, kSwapped };
MarkedText with_case(const MarkedText& text, Case wanted);

/// The bytes of the last character of a text that is not empty.
std::string_view last_character(std::string_view text);

/// Whether all characters of a text that is not empty are of a kind; an empty text is ASCII.
enum CharacterKind { kDigits, kLetters, kWords, kSpaces, kAscii };
bool is_all(std::string_view text, CharacterKind kind);
/// Whether there are letters with a case, all of them `wanted` (kLower or kUpper).
bool has_only_case(std::string_view text, Case wanted);
/// Runs of letters, digits and underscores.
size_t num_words(std::string_view text);

/// format % values, with %s %r %d %i %f %x %c %%, flags, width and precision. Errors:
/// TemplateError.
std::string percent_format(std::string_view format, const Value& values);

}  // namespace s2s::jinja
