#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/batch.h"
#include "text/document_encoder.h"

namespace s2s::data {

/// The documents of a row, one after the other.
struct TokenRow {
  std::vector<TokenDocument> documents;
  std::string id;
};

/// Makes text_BT, with rows padded on the right with `pad`, the labels (-100: not predicted), and
/// the position of each document.
Batch make_text_batch(const std::vector<TokenRow>& rows, int64_t pad);

}  // namespace s2s::data
