#pragma once
// Texts compared: normalizers, word and character errors, and the word alignment.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// A text that a model wrote, for scores: replaces each unknown piece, which decoders write as
/// U+2047, by a word. Normalization would drop the piece as punctuation, so that the error would
/// not count.
std::string with_unknown_words(std::string_view text);

/// Collapses and trims white space. Changes nothing else.
std::string collapse_white_space(std::string_view text);

/// Splits a text at Unicode white space, as Python's str.split() does.
std::vector<std::string> split_words(std::string_view text);

enum class EditKind { kEqual, kSubstitute, kDelete, kInsert };

/// One edit of an alignment. `reference` is empty for an insertion, `hypothesis` for a deletion.
struct WordEdit {
  EditKind kind = EditKind::kEqual;
  std::string reference;
  std::string hypothesis;
};

/// Error counts of a hypothesis against a reference. Counts can be summed over a corpus.
struct ErrorCounts {
  int64_t substitutions = 0;
  int64_t deletions = 0;
  int64_t insertions = 0;
  int64_t reference_length = 0;

  int64_t errors() const { return substitutions + deletions + insertions; }
  /// Returns errors / reference_length, or NaN if the reference is empty and the hypothesis is not.
  double rate() const;
  ErrorCounts& operator+=(const ErrorCounts& other);
};

/// Returns the alignment of two word lists with the fewest edits (every edit costs one). Among
/// equal ones, prefers from the end: matches and substitutions, then deletions.
std::vector<WordEdit> align_words(const std::vector<std::string>& reference,
                                  const std::vector<std::string>& hypothesis);

/// Counts the edits of an alignment by kind.
ErrorCounts count_errors(const std::vector<WordEdit>& alignment);

/// Returns the word errors of two texts without normalizing them. Words are split at white space.
ErrorCounts word_errors(std::string_view reference, std::string_view hypothesis);

/// Returns the character errors of two texts by code point, including white space.
ErrorCounts character_errors(std::string_view reference, std::string_view hypothesis);

}  // namespace s2s
