#pragma once
// The thoughts of Qwen 3 in a conversation.

#include <cstdint>
#include <string>
#include <vector>

#include "conversations/prompt_format.h"

namespace s2s::data {

inline constexpr const char* kEmptyThought = "<think>\n\n</think>\n\n";

/// Prepares the thoughts for Qwen 3's prompt. Removes the thoughts of earlier answers, and
/// normalizes those of the last answer (empty thoughts where it has none). Adds "/think" or
/// "/no_think" to a turn of the system or the user. That turn, and the side of its text, are drawn
/// from `seed` with Python's generator. Removes an empty system turn at the beginning.
/// Errors: [data/prompt-turns].
/// Source: NeMo collections/common/prompts/qwen.py Qwen3PromptFormatter.encode_dialog.
void write_thoughts(std::vector<PromptTurn>& turns, uint64_t seed, const std::string& place);

}  // namespace s2s::data
