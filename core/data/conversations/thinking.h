#pragma once
// The thoughts of an answer in a conversation.

#include <cstdint>
#include <string>
#include <vector>

#include "conversations/prompt_format.h"

namespace s2s::data {

inline constexpr const char* kEmptyThought = "<think>\n\n</think>\n\n";

/// Removes the thoughts of earlier answers, brings that of the last answer to its normal form (an
/// empty one where there is none), and marks a turn of the system or the user with "/think" or
/// "/no_think". Which turn, and on which side of its text, is drawn from `seed` as
/// Python's random draws it. Removes an empty system turn at the beginning.
/// `format`: its name, for messages. Errors: [data/prompt-turns].
/// Source: NeMo collections/common/prompts/qwen.py Qwen3PromptFormatter.encode_dialog.
void write_thoughts(std::vector<PromptTurn>& turns, const std::string& format, uint64_t seed,
                    const std::string& place);

}  // namespace s2s::data
