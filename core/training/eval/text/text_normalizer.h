#pragma once
// Brings English texts into one spelling before they are compared.

#include <string>
#include <string_view>

namespace s2s {

/// Whisper's English rules: lower case; brackets and fillers dropped; contractions and titles
/// written out; number words, currencies and percentages in digits; British spellings as American;
/// symbols and diacritics dropped; white space collapsed. The list: core/docs/reference/metrics.md.
/// The result may begin or end with one blank, as its model's does.
/// Source: behavior of whisper_normalizer 0.1.15, EnglishTextNormalizer.
std::string normalize_english(std::string_view text);

/// White space collapsed and trimmed, nothing else changed.
std::string collapse_white_space(std::string_view text);

}  // namespace s2s
