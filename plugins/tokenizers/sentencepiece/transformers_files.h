#pragma once
// A SentencePiece model as the files that transformers' AutoTokenizer reads.

#include <map>
#include <string>

#include "model_proto.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::sentencepiece_plugin {

/// tokenizer.json and tokenizer_config.json, which give the ids and texts of SentencePieceTokenizer
/// (core/docs/reference/tokenizers.md lists the exceptions). Special tokens in a text stay text.
/// `place` names the tokenizer in messages.
/// Errors: [tokenizer/transformers].
std::map<std::string, std::string> transformers_files(const ModelProto& model,
                                                      const SpecialIds& special,
                                                      const std::string& place);

}  // namespace s2s::sentencepiece_plugin
