#pragma once
// Word and character error rates, and the word alignment.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

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

ErrorCounts count_errors(const std::vector<WordEdit>& alignment);

/// Returns the word errors of two texts without normalizing them. Words are split at white space.
ErrorCounts word_errors(std::string_view reference, std::string_view hypothesis);

/// Returns the character errors of two texts by code point, including white space.
ErrorCounts character_errors(std::string_view reference, std::string_view hypothesis);

}  // namespace s2s
