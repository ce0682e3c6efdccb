#pragma once
// Errors of the plugin.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::two_level {

/// [model/ffn-dim]: gate and value have different widths.
Error ffn_dim_error(const std::string& path, int64_t value);
/// [model/codec-books]: codec and model have different codebooks.
Error codec_books_error(const std::string& codec, int64_t books, int64_t size, int64_t model_books,
                        int64_t model_size);
/// [model/no-codec]: the model has no codec and the batch has no codes.
Error no_codec_error(const std::string& what);
/// [model/kyutai-weights]: weights with Kyutai's names are missing or have wrong shapes.
Error kyutai_weights_error(const std::string& path, const std::vector<std::string>& problems);
/// [model/streams]: `found`, a tensor of a batch, is undefined or has wrong sizes.
Error streams_error(const std::string& name, const at::Tensor& found, const std::string& expected);
/// [model/token-id]: a text id is not in the vocabulary.
Error text_id_error(const std::string& key, int64_t id, int64_t vocab_size);
/// [model/token-id]: an empty text has no position, without ids around it.
Error no_text_ids_error();
/// [model/token-id]: text_padding_weight needs the id of PAD.
Error no_pad_error();

}  // namespace s2s::two_level
