#pragma once
// s2s-run tokenizer chat: shows conversations as a chat template writes them.

#include "s2s_run/command_line.h"

namespace s2s::run {

void add_chat_command(const Command& group);

}  // namespace s2s::run
