#pragma once
// Errors of the plugin.

#include <cstdint>
#include <string>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::duplex_s2s {

Error no_codec_error();
/// [model/no-loss]: the current stage has no loss.
Error no_loss_error();
/// [model/user-text]: an option needs feed_back, which is off.
Error not_fed_back_error(const std::string& key);

/// [model/speech-decoder]: options of model.speech_decoder contradict each other.
Error speech_decoder_error(const std::string& problem, const std::string& expected);
/// [model/speech-decoder-length]: a conversation exceeds the speech decoder's positions.
Error speech_too_long_error(int64_t frames, int64_t longest);

}  // namespace s2s::duplex_s2s
