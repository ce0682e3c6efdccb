#pragma once
// Reads batches of text for a causal language model.

#include <vector>

#include "s2s/batch.h"

namespace s2s::causal_lm {

/// The label of a position that is not predicted.
constexpr int64_t kIgnored = -100;

/// Counts of a batch, on the host.
struct TextCounts {
  int64_t labels = 0;  // predicted tokens; nothing predicts the first column of a row
  int64_t real = 0;    // tokens of documents
  double pairs = 0;    // pairs of tokens in attention: the sum of squares of the lengths
};
TextCounts count_text(const Batch& batch);

/// Returns the documents of a batch [B, T] whose rows are joined to one row [1, B * T]. The padding
/// at the end of a row becomes part of its last document, which never attends to it.
std::vector<DocumentSpan> documents_in_one_row(const Batch& batch);

}  // namespace s2s::causal_lm
