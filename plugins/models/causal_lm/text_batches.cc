#include "text_batches.h"

#include <ATen/ATen.h>

#include "s2s/error.h"

namespace s2s::causal_lm {

TextCounts count_text(const Batch& batch) {
  TextCounts counts;
  const at::Tensor labels_BT = batch.text_labels_BT;
  const int64_t rows = labels_BT.size(0), width = labels_BT.size(1);
  counts.labels = labels_BT.narrow(1, 1, width - 1).ne(kIgnored).sum().item<int64_t>();
  const auto add = [&counts](int64_t length) {
    counts.real += length;
    counts.pairs += static_cast<double>(length) * static_cast<double>(length);
  };
  for (const DocumentSpan& document : batch.documents) add(document.length);
  if (batch.documents.empty()) {
    for (int64_t b = 0; b < rows; ++b) add(width);
  }
  return counts;
}

std::vector<DocumentSpan> documents_in_one_row(const Batch& batch) {
  const int64_t width = batch.text_BT.size(1);
  std::vector<DocumentSpan> spans;
  for (const DocumentSpan& document : batch.documents) {
    const int64_t begin = document.row * width + document.begin;
    S2S_ASSERT(spans.empty() || begin >= spans.back().begin + spans.back().length,
               "documents are in order and do not overlap");
    if (!spans.empty()) spans.back().length = begin - spans.back().begin;
    spans.push_back({0, begin, document.length});
  }
  S2S_ASSERT(!spans.empty() && spans.front().begin == 0, "a document begins the first row");
  spans.back().length = batch.text_BT.numel() - spans.back().begin;
  return spans;
}

}  // namespace s2s::causal_lm
