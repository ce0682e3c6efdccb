#pragma once
// Writes a SentencePiece model as files for transformers' AutoTokenizer.

#include <map>
#include <string>

#include "model_proto.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::sentencepiece_plugin {

/// tokenizer.json and tokenizer_config.json. They give the same ids and texts as
/// SentencePieceTokenizer (exceptions: core/docs/reference/tokenizers.md). Special tokens in a text
/// are treated as text. `place` names the tokenizer in messages.
/// Errors: [tokenizer/transformers].
std::map<std::string, std::string> transformers_files(const ModelProto& model,
                                                      const SpecialIds& special,
                                                      const std::string& place);

}  // namespace s2s::sentencepiece_plugin
