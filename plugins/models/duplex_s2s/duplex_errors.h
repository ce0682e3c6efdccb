#pragma once
// Errors of the duplex model.

#include <cstdint>
#include <string>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::duplex {

[[noreturn]] void throw_no_codec();
/// [model/no-loss]: the current stage has no loss.
[[noreturn]] void throw_no_loss();
/// [model/user-text]: an option needs feed_back, which is off.
[[noreturn]] void throw_not_fed_back(const std::string& key);

/// [model/speech-decoder]: options of model.speech_decoder do not fit together.
[[noreturn]] void throw_speech_decoder(const std::string& problem, const std::string& expected);
/// [model/speech-decoder-length]: a conversation is longer than the speech decoder's positions.
[[noreturn]] void throw_speech_too_long(int64_t frames, int64_t longest);

}  // namespace s2s::duplex
