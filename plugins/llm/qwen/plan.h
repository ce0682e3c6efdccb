#pragma once

#include "s2s/nn/decoder.h"

namespace s2s::qwen {

/// Tensor and sequence parallel rows of the decoder proper.
std::vector<TensorRow> tensor_rows(const DecoderSpec& spec);

}  // namespace s2s::qwen
