#pragma once
// A conversation of audio and text turns as one cut. The audio turns are the cut's tracks, one
// after the other; all turns are in the custom field `s2s_conversation`.

#include <memory>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"
#include "streams/source_turns.h"

namespace s2s::data {

/// A turn of a conversation: either text or audio.
struct SpokenOrWritten {
  std::string role;                  // user, assistant, system
  std::string text;                  // "" for audio
  std::shared_ptr<const Cut> audio;  // null for text
};

/// Converts a conversation to a cut. Its duration is that of all audio, or a millisecond without
/// audio.
/// Errors: [data/conversation] without turns.
Cut prompt_cut(const Conversation& conversation);

/// Returns the turns of a cut that prompt_cut made; empty for any other cut.
std::vector<SpokenOrWritten> turns_of_prompt_cut(const Cut& cut);

}  // namespace s2s::data
