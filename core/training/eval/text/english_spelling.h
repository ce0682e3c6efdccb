#pragma once
// British spellings and their American counterparts.

#include <string>

namespace s2s {

/// The families of spellings as text: parts of a family are separated by "|", families by ";".
extern const char* const kSpellingFamilies;

/// The American spelling of a lower-case word; the word itself when there is none.
const std::string& american_spelling(const std::string& word);

}  // namespace s2s
