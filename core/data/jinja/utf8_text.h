#pragma once
// Strings of characters, not bytes, as in Python.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/value.h"

namespace s2s::jinja {

/// The first byte of each character, then the number of bytes. A text is shorter than 4 GB.
using CharacterPlaces = std::vector<uint32_t, Metered<uint32_t>>;
CharacterPlaces character_places(std::string_view text);
size_t num_characters(std::string_view text);

/// Which sides to strip of white space or, if `chars` is not empty, of its characters.
enum class Side { kBoth, kLeft, kRight };
MarkedText strip(const MarkedText& text, Side side, const std::string* chars = nullptr);

/// Strips white space at the end, as Python's str.rstrip.
std::string_view trimmed_right(std::string_view text);
/// Number of bytes of white space at the front.
size_t leading_space(std::string_view text);

/// Changes the case of ASCII and of Latin, Greek and Cyrillic letters. Marks are kept if the number
/// of bytes stays equal. kTitle: a word begins after anything that is not a letter. kWords: a word
/// begins after white space or one of -({[<.
enum class Case { kUpper, kLower, kCapitalized, kTitle, kWords, kSwapped };
MarkedText with_case(const MarkedText& text, Case wanted);

/// Returns the bytes of the last character of a text, which must not be empty.
std::string_view last_character(std::string_view text);

/// Whether all characters of a text are of a kind. An empty text is ASCII and nothing else.
enum CharacterKind { kDigits, kLetters, kWords, kSpaces, kAscii };
bool is_all(std::string_view text, CharacterKind kind);
/// Whether there are letters that have a case, and all of them have the case `wanted` (kLower or
/// kUpper).
bool has_only_case(std::string_view text, Case wanted);
/// Number of runs of letters, digits and underscores.
size_t num_words(std::string_view text);

/// Python's format % values, with %s %r %d %i %f %x %c %%, flags, width and precision.
/// Errors: TemplateError.
std::string percent_format(std::string_view format, const Value& values);

}  // namespace s2s::jinja
