#pragma once
// Which bytes of a text each of its tokens stands for.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "s2s/error.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::data {

/// Bytes [begin, end) of a text.
struct TokenPlace {
  size_t begin = 0;
  size_t end = 0;
};

/// The places of `ids` in the text that they are the encoding of, in order, by the pieces of the
/// vocabulary: of byte-level alphabets, with word marks and byte tokens, or plain.
/// White space that no piece has belongs to the next token. Where a tokenizer changes the text
/// (normalization, unknown characters), the place is found between the tokens around it.
/// Returns fewer places than ids when the text cannot be followed further.
std::vector<TokenPlace> find_token_places(const std::vector<int64_t>& ids, std::string_view text,
                                          const Tokenizer& tokenizer);

}  // namespace s2s::data
