#pragma once
// Errors of the recognizers. `path` names the scorer's options in the config.

#include <string>

#include "s2s/error.h"

namespace s2s::speech_recognizer {

/// [scorer/no-model]: neither `path` nor `model` is given.
Error no_model(const std::string& path);
/// [scorer/no-decoder]: the model has no decoder of this kind.
Error no_decoder(const std::string& place, const std::string& wanted, const std::string& other);
/// [scorer/tokenizer-file]: the archive's tokenizer cannot be written for its reader.
/// A run or checkpoint of another model.
Error not_a_recognizer(const std::string& checkpoint, const std::string& reason);
Error cannot_unpack(const std::string& file, const std::string& reason);
/// [scorer/model-change]: the encoder cannot have this attention.
Error bad_model_change(const std::string& place, const std::string& value,
                       const std::string& expected);
/// [scorer/strategy]: the model has no such search. `known`: those that it has.
Error unknown_strategy(const std::string& place, const std::string& strategy,
                       const std::string& known);
/// A warning, [scorer/greedy]: the file asks for a search that is not there.
std::string decodes_greedily(const std::string& place, const std::string& strategy,
                             const std::string& known);
/// A warning, [scorer/language-model]: the file asks for a search with a language model.
std::string searches_without_model(const std::string& place, const std::string& file);

}  // namespace s2s::speech_recognizer
