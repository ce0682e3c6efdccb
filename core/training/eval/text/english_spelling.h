#pragma once
// British spellings and their American counterparts.

#include <string>

namespace s2s {

/// The spelling families as text. "|" separates the parts of a family, ";" separates families.
extern const char* const kSpellingFamilies;

/// The American spelling of a lower-case word, or the word itself when it has no other spelling.
const std::string& american_spelling(const std::string& word);

}  // namespace s2s
