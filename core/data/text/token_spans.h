#pragma once
// Finds the bytes of a text that each of its tokens covers.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "s2s/error.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::data {

/// Bytes [begin, end) of a text.
struct TokenSpan {
  size_t begin = 0;
  size_t end = 0;
};

/// Returns the spans of `ids` in the text of which they are the encoding, in order. Pieces of the
/// vocabulary may be of byte-level alphabets, have word marks and byte tokens, or be plain text.
/// White space that is in no piece belongs to the next token. If a tokenizer changes a part of the
/// text (normalization, unknown characters), its span lies between the tokens around it. Returns
/// fewer spans than ids if the text cannot be matched further.
std::vector<TokenSpan> find_token_spans(const std::vector<int64_t>& ids, std::string_view text,
                                        const Tokenizer& tokenizer);

}  // namespace s2s::data
