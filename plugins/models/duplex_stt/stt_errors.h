#pragma once
// Errors of the duplex speech-to-text model.

#include <string>

namespace s2s::duplex_stt {

/// [model/no-user-text]: predict_user_text is set, but the batch has no text channel of the user.
[[noreturn]] void throw_no_user_text();
/// [model/packed-text]: a row of text data has several documents.
[[noreturn]] void throw_packed_text();
/// [model/user-turn-token]: the text of a user turn token has no ids.
[[noreturn]] void throw_user_turn_token(const std::string& key, const std::string& text);
/// [model/forced-turns]: force_turn_taking is set without predict_user_text.
[[noreturn]] void throw_forced_turns();

}  // namespace s2s::duplex_stt
