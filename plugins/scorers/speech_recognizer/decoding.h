#pragma once
// What a model's configuration says of decoding, below what the scorer's options say.

#include <functional>
#include <string>

#include "speech_recognizer.h"

namespace s2s::speech_recognizer {

/// The searches of a model, as NeMo calls them, with ", " between them.
std::string strategies_of(const RecognizerConfig& config, DecoderKind kind);

/// `node`, the scorer's options, with those of NeMo's `decoding` in `model` that it does not set.
/// A strategy that is not there is greedy_batch. Warns: [scorer/greedy], [scorer/language-model].
Config with_decoding_of(const Config& model, const std::string& place, DecoderKind kind,
                        const std::string& known, const Config& node,
                        const std::function<void(const std::string&)>& warn);

/// Errors: [scorer/strategy].
void require_strategy(const DecodingOptions& decoding, const std::string& known,
                      const std::string& place);

}  // namespace s2s::speech_recognizer
