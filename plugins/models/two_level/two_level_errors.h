#pragma once
// The mistakes of users that concern models of two levels.

#include <ATen/core/Tensor.h>

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
/// [model/kyutai-weights]: weights under Kyutai's names are missing or have another shape.
Error kyutai_weights_error(const std::string& path, const std::vector<std::string>& problems);
/// [model/streams]: `found`, a tensor of a batch, is undefined or has other sizes than the model
/// needs.
Error streams_error(const std::string& name, const at::Tensor& found, const std::string& expected);
/// [model/token-id]: an id of the text is not in the vocabulary.
Error text_id_error(const std::string& key, int64_t id, int64_t vocab_size);
/// [model/token-id]: text_padding_weight needs the id of PAD.
Error no_pad_error();

}  // namespace s2s::two_level
