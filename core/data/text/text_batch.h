#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/batch.h"
#include "text/document_encoder.h"

namespace s2s::data {

/// Documents of a row, one after the other.
struct TokenRow {
  std::vector<TokenDocument> documents;
  std::string id;
};

/// Rows as text_BT, right padded with `pad` to the longest, labels (-100: not predicted) and the
/// place of each document.
Batch make_text_batch(const std::vector<TokenRow>& rows, int64_t pad);

}  // namespace s2s::data
