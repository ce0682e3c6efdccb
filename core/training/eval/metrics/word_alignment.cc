#include <limits>

#include "eval/text/unicode_text.h"
#include "s2s/scores/texts.h"

namespace s2s {

namespace {

/// Edit distances of all prefix pairs, (reference + 1) x (hypothesis + 1), row-major.
class DistanceTable {
 public:
  DistanceTable(const std::vector<std::string>& reference,
                const std::vector<std::string>& hypothesis)
      : width_(hypothesis.size() + 1), cells_((reference.size() + 1) * width_) {
    for (size_t i = 0; i <= reference.size(); ++i) cells_[i * width_] = i;
    for (size_t j = 0; j < width_; ++j) cells_[j] = j;
    for (size_t i = 1; i <= reference.size(); ++i) {
      for (size_t j = 1; j < width_; ++j) {
        const size_t replaced = at(i - 1, j - 1) + (reference[i - 1] == hypothesis[j - 1] ? 0 : 1);
        cells_[i * width_ + j] = std::min({replaced, at(i - 1, j) + 1, at(i, j - 1) + 1});
      }
    }
  }
  size_t at(size_t i, size_t j) const { return cells_[i * width_ + j]; }

 private:
  size_t width_;
  std::vector<size_t> cells_;
};

std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> out;
  for (const char32_t c : decode_utf8(text)) out.push_back(encode_utf8({c}));
  return out;
}

}  // namespace

double ErrorCounts::rate() const {
  if (reference_length > 0) {
    return static_cast<double>(errors()) / static_cast<double>(reference_length);
  }
  return errors() == 0 ? 0.0 : std::numeric_limits<double>::quiet_NaN();
}

ErrorCounts& ErrorCounts::operator+=(const ErrorCounts& other) {
  substitutions += other.substitutions;
  deletions += other.deletions;
  insertions += other.insertions;
  reference_length += other.reference_length;
  return *this;
}

std::vector<WordEdit> align_words(const std::vector<std::string>& reference,
                                  const std::vector<std::string>& hypothesis) {
  const DistanceTable table(reference, hypothesis);
  std::vector<WordEdit> edits;
  size_t i = reference.size();
  size_t j = hypothesis.size();
  while (i > 0 || j > 0) {
    const bool equal = i > 0 && j > 0 && reference[i - 1] == hypothesis[j - 1];
    if (i > 0 && j > 0 && table.at(i, j) == table.at(i - 1, j - 1) + (equal ? 0 : 1)) {
      --i;
      --j;
      edits.push_back(
          {equal ? EditKind::kEqual : EditKind::kSubstitute, reference[i], hypothesis[j]});
    } else if (i > 0 && table.at(i, j) == table.at(i - 1, j) + 1) {
      edits.push_back({EditKind::kDelete, reference[--i], ""});
    } else {
      edits.push_back({EditKind::kInsert, "", hypothesis[--j]});
    }
  }
  std::reverse(edits.begin(), edits.end());
  return edits;
}

ErrorCounts count_errors(const std::vector<WordEdit>& alignment) {
  ErrorCounts counts;
  for (const WordEdit& edit : alignment) {
    counts.substitutions += edit.kind == EditKind::kSubstitute ? 1 : 0;
    counts.deletions += edit.kind == EditKind::kDelete ? 1 : 0;
    counts.insertions += edit.kind == EditKind::kInsert ? 1 : 0;
    counts.reference_length += edit.kind == EditKind::kInsert ? 0 : 1;
  }
  return counts;
}

ErrorCounts word_errors(std::string_view reference, std::string_view hypothesis) {
  return count_errors(align_words(split_words(reference), split_words(hypothesis)));
}

ErrorCounts character_errors(std::string_view reference, std::string_view hypothesis) {
  return count_errors(align_words(characters(reference), characters(hypothesis)));
}

}  // namespace s2s
