#pragma once
// NeMo's model_change: a recognizer with another attention than its file says, by the same weights.

#include <string>

#include "speech_recognizer_options.h"

namespace s2s::speech_recognizer {

/// Writes what `change` asks for into `encoder`, the options of a fastconformer. As in NeMo, a
/// changed attention has no global tokens. `place`: the scorer's options.
/// Errors: [scorer/model-change].
void change_attention(const ConformerChange& change, const std::string& place, Config& encoder);

}  // namespace s2s::speech_recognizer
