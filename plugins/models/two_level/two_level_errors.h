#pragma once
// The mistakes of users that concern models of two levels.

#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::two_level {

/// [model/ffn-dim]: gate and value do not have the same width.
Error ffn_dim_error(const std::string& path, int64_t value);
/// [model/codec-books]: the codec's codebooks are not those of the model.
Error codec_books_error(const std::string& codec, int64_t books, int64_t size, int64_t model_books,
                        int64_t model_size);
/// [model/no-codec]: the model has no codec and the batch no codes.
Error no_codec_error(const std::string& what);
/// [model/no-tokenizer]: the model cannot write or read text.
Error no_tokenizer_error();
/// [model/kyutai-weights]: weights under Kyutai's names are missing or have another shape.
Error kyutai_weights_error(const std::string& path, const std::vector<std::string>& problems);
/// [model/streams]: tensors of a batch do not have the sizes that the model needs.
Error streams_error(const std::string& name, const std::string& sizes, const std::string& expected);

}  // namespace s2s::two_level
