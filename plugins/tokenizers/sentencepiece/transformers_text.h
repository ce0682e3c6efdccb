#pragma once
// The text steps of a SentencePiece model as members of tokenizer.json.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "transformers_pieces.h"

namespace s2s::sentencepiece_plugin {

/// The member `normalizer`. `added`: the user-defined symbols that are added tokens.
/// Source: sentencepiece 0.1.97, src/normalizer.cc Normalizer::Normalize.
nlohmann::json transformers_normalizer(const ModelProto& model, const PieceNames& pieces,
                                       const std::vector<std::string>& added, FreeCharacters& free);

/// The member `decoder`. Source: as above, src/sentencepiece_processor.cc Decode.
nlohmann::json transformers_decoder(const ModelProto& model, const PieceNames& pieces,
                                    FreeCharacters& free);

}  // namespace s2s::sentencepiece_plugin
