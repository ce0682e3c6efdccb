#pragma once
// Kyutai's own files of Moshi, also used by PersonaPlex and other derivatives: config.json with the
// arguments of the class, and weights with its names.

#include <memory>
#include <vector>

#include "s2s/nn/decoder.h"
#include "s2s/nn/weights.h"

namespace s2s::two_level {

/// True if config.json has the arguments of Kyutai's class.
bool is_kyutai_config(const Config& foreign);

/// Translates config.json to the keys of Hugging Face. Errors: [model/translate] lists the
/// arguments that change the result and are not supported.
Config kyutai_to_hf(const Config& foreign);

/// True if the weights have Kyutai's names.
bool is_kyutai(const WeightFiles& files);

/// The values of Moshi's parameters `ours` (transformers' names) from Kyutai's weights. There,
/// queries, keys and values are one matrix, rotary pairs are adjacent, and the matrices of books
/// are stacked or separate. Reads the first books if there are more than the model has. `main`,
/// `depth`: the decoders. Errors: [model/kyutai-weights] lists missing tensors and wrong shapes.
std::unique_ptr<WeightSource> kyutai_source(const std::vector<NamedTensor>& ours,
                                            const DecoderSpec& main, const DecoderSpec& depth,
                                            WeightFiles files);

}  // namespace s2s::two_level
