#pragma once
// Conversations with audio and text turns, from cuts.

#include <string>
#include <vector>

#include "conversations/prompt_format.h"
#include "s2s/data/cuts.h"
#include "streams/prompt_cut.h"

namespace s2s::data {

struct AudioConversation {
  std::string id;
  std::string place;          // for messages
  std::string system_prompt;  // custom field of that name; "": none
  std::vector<SpokenOrWritten> turns;
};

/// A conversation of NeMo's files as it is. Any other cut becomes one, as NeMo's
/// lhotse_as_conversation does: custom field system_prompt (system), context (user), the cut's
/// audio (user), the text of its first turn (assistant).
/// Errors: [data/prompt-turns] for a cut without text.
/// Source: NeMo cutset.py cut_to_conversation.
AudioConversation conversation_of(const Cut& cut);

/// How conversations become rows of a batch.
struct ConversationRules {
  std::string prompt_format;
  std::string audio_locator_tag;
  int64_t sample_rate_hz = 16000;
  double token_equivalent_duration_s = 0;  // 0: unknown
};

/// The ids and loss mask of a conversation; an audio is one tag.
/// Errors: [data/prompt-format], [data/prompt-turns]; the latter also where a text has the tag.
EncodedPrompt encode_conversation(const AudioConversation& conversation,
                                  const ConversationRules& rules, const Tokenizer& tokenizer);

/// Positions that a conversation takes: its ids, with ceil(duration / token_equivalent_duration)
/// for each audio. With `whole` false, without the last turn's.
/// Source: NeMo text_adapters.py total_length, input_length.
int64_t num_positions(const AudioConversation& conversation, const ConversationRules& rules,
                      const Tokenizer& tokenizer, bool whole);

}  // namespace s2s::data
