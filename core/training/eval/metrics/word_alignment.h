#pragma once
// Word and character error rates, and the alignment behind them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

enum class EditKind { kEqual, kSubstitute, kDelete, kInsert };

/// One step of an alignment; `reference` is empty for an insertion, `hypothesis` for a deletion.
struct WordEdit {
  EditKind kind = EditKind::kEqual;
  std::string reference;
  std::string hypothesis;
};

/// Errors that turn a reference into a hypothesis, as counts; adds up over a corpus.
struct ErrorCounts {
  int64_t substitutions = 0;
  int64_t deletions = 0;
  int64_t insertions = 0;
  int64_t reference_length = 0;

  int64_t errors() const { return substitutions + deletions + insertions; }
  /// errors / reference_length; NaN when the reference is empty and the hypothesis is not.
  double rate() const;
  ErrorCounts& operator+=(const ErrorCounts& other);
};

/// The cheapest alignment of two word lists (every edit costs one). Among equally cheap ones:
/// from the end, equal or substituted words first, then deletions.
std::vector<WordEdit> align_words(const std::vector<std::string>& reference,
                                  const std::vector<std::string>& hypothesis);

/// Counts of an alignment.
ErrorCounts count_errors(const std::vector<WordEdit>& alignment);

/// Word errors of two texts as they are (normalize first); words are split at white space.
ErrorCounts word_errors(std::string_view reference, std::string_view hypothesis);

/// Character errors of two texts, by code point, white space included.
ErrorCounts character_errors(std::string_view reference, std::string_view hypothesis);

}  // namespace s2s
