#pragma once
// Kyutai's own files of Moshi, which PersonaPlex and other models trained from Moshi have too:
// config.json with the arguments of its class, and weights under its names.

#include <memory>
#include <vector>

#include "s2s/nn/decoder.h"
#include "s2s/nn/weights.h"

namespace s2s::two_level {

/// True if config.json has the arguments of Kyutai's class.
bool is_kyutai_config(const Config& foreign);

/// config.json in the keys of Hugging Face. Errors: [model/translate] for arguments that change the
/// result and are not supported, all together.
Config kyutai_to_hf(const Config& foreign);

/// True if the weights have Kyutai's names.
bool is_kyutai(const WeightFiles& files);

/// The values of Moshi's parameters `ours`, under transformers' names, from Kyutai's. Queries,
/// keys and values are one matrix there, rotary pairs are neighbors, and every book's matrices are
/// below each other or apart. Of more books than the model has, the first are read.
/// `main`, `depth`: the two decoders. Errors: [model/kyutai-weights] lists what is missing or has
/// another shape.
std::unique_ptr<WeightSource> kyutai_source(const std::vector<NamedTensor>& ours,
                                            const DecoderSpec& main, const DecoderSpec& depth,
                                            WeightFiles files);

}  // namespace s2s::two_level
