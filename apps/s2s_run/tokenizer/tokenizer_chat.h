#pragma once
// s2s-run tokenizer chat: what a chat template makes of conversations.

#include "s2s_run/command_line.h"

namespace s2s::run {

void add_chat_command(const Command& group);

}  // namespace s2s::run
