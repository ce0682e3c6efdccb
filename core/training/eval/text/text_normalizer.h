#pragma once
// Normalizes English texts before they are compared.

#include <string>
#include <string_view>

namespace s2s {

/// Applies Whisper's English rules: lower case; brackets and fillers dropped; contractions and
/// titles written out; number words, currencies and percentages in digits; British spellings as
/// American; symbols and diacritics dropped; white space collapsed. The list:
/// core/docs/reference/metrics.md. The result may begin or end with one blank, as in the reference
/// implementation.
/// Source: behavior of whisper_normalizer 0.1.15, EnglishTextNormalizer.
std::string normalize_english(std::string_view text);

/// Applies Whisper's rules for any language: lower case; brackets dropped; marks, symbols and
/// punctuation as blanks; white space collapsed. Diacritics of one code point stay.
/// Source: behavior of whisper_normalizer 0.1.15, BasicTextNormalizer.
std::string normalize_basic(std::string_view text);

/// A text that a model wrote, for scores: a word stands in the place of each unknown piece, which
/// decoders write as U+2047. Normalization would drop it as punctuation, and an unknown piece too
/// many would cost nothing.
std::string with_unknown_words(std::string_view text);

/// Collapses and trims white space. Changes nothing else.
std::string collapse_white_space(std::string_view text);

}  // namespace s2s
