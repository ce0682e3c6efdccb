#include "text/text_batch.h"

#include <ATen/Functions.h>

#include <algorithm>

namespace s2s::data {

namespace {

constexpr int64_t kNoLabel = -100;

int64_t length_of(const TokenRow& row) {
  int64_t length = 0;
  for (const TokenDocument& document : row.documents) length += document.size();
  return length;
}

}  // namespace

Batch make_text_batch(const std::vector<TokenRow>& rows, int64_t pad) {
  int64_t width = 0;
  for (const TokenRow& row : rows) width = std::max(width, length_of(row));
  const auto num_rows = static_cast<int64_t>(rows.size());
  Batch batch;
  batch.text_BT = at::full({num_rows, width}, pad, at::kLong);
  batch.text_labels_BT = at::full({num_rows, width}, kNoLabel, at::kLong);
  auto* ids = batch.text_BT.data_ptr<int64_t>();
  auto* labels = batch.text_labels_BT.data_ptr<int64_t>();
  for (int64_t r = 0; r < num_rows; ++r) {
    const TokenRow& row = rows[static_cast<size_t>(r)];
    int64_t column = 0;
    for (const TokenDocument& document : row.documents) {
      batch.documents.push_back({r, column, document.size()});
      for (size_t i = 0; i < document.ids.size(); ++i, ++column) {
        ids[r * width + column] = document.ids[i];
        if (document.is_label[i]) labels[r * width + column] = document.ids[i];
      }
    }
    batch.ids.push_back(row.id);
  }
  return batch;
}

}  // namespace s2s::data
