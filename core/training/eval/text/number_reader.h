#pragma once
// Reads spelled-out English numbers, signs, currencies and percentages in a list of words.

#include <string>
#include <vector>

namespace s2s {

/// Rewrites number words as digits: "twenty", "five", "dollars" -> "$25". Adjacent digits are
/// joined ("one", "oh", "one" -> "101"). Words must be lower case.
/// Source: behavior of whisper_normalizer 0.1.15, EnglishNumberNormalizer.process_words.
std::vector<std::string> rewrite_numbers(const std::vector<std::string>& words);

}  // namespace s2s
