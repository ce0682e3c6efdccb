#pragma once
// What a user can get wrong in a decoder's options.

#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::decoder_errors {

/// [llm/sizes] sizes that do not fit each other.
Error sizes(const std::string& path, const std::string& what);
/// [llm/rope-type] a kind of rotary scaling that the family does not know.
Error rope_type(const std::string& path, const std::string& type,
                const std::vector<std::string>& known);
/// [llm/pad-token] a padding id outside the vocabulary.
Error pad_token(const std::string& path, int64_t id, int64_t vocab_size);

/// [llm/layer-types] which layers see only a window, and how far, does not agree.
Error layer_types(const std::string& path, const std::string& what);

}  // namespace s2s::decoder_errors
