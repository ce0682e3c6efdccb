#pragma once
// A conversation with audio and text turns as one cut: the audio of its turns one after the other
// as tracks, and its turns as the custom field `s2s_conversation`.

#include <memory>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"
#include "streams/source_turns.h"

namespace s2s::data {

/// A turn of a conversation: text, or audio.
struct SpokenOrWritten {
  std::string role;                  // user, assistant, system
  std::string text;                  // of audio: ""
  std::shared_ptr<const Cut> audio;  // null: text
};

/// `conversation` as a cut; its duration is that of all audio (a millisecond where there is none).
/// Errors: [data/conversation] without turns.
Cut prompt_cut(const Conversation& conversation);

/// The turns of a cut that prompt_cut made; empty: it did not make this one.
std::vector<SpokenOrWritten> turns_of_prompt_cut(const Cut& cut);

}  // namespace s2s::data
