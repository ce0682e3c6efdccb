#pragma once
// Reads spelled-out English numbers, signs, currencies and percentages in a list of words.

#include <string>
#include <vector>

namespace s2s {

/// Words with numbers rewritten in digits: "twenty", "five", "dollars" -> "$25"; runs of digits
/// join ("one", "oh", "one" -> "101"). Words are lower case.
/// Source: behavior of whisper_normalizer 0.1.15, EnglishNumberNormalizer.process_words.
std::vector<std::string> rewrite_numbers(const std::vector<std::string>& words);

}  // namespace s2s
