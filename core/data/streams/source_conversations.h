#pragma once
// NeMo's and ShareGPT's conversations as duplex dialogues.

#include "streams/combinators.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// The turns one after the other: audio of users in the cut's recordings, audio of the assistant
/// in target_audio. A text turn of the assistant without audio begins where the turn before it
/// ends and lasts as long as its text takes at kSecondsPerCharacter.
/// Errors: [data/conversation], [data/unreadable-audio], those of line files and tars.
/// Source: order and ids as nemo NeMoMultimodalConversationJsonlAdapter and its ShareGPT variant.
StreamPtr open_conversations(const InputNode& node);

}  // namespace s2s::data
