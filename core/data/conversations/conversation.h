#pragma once
// Conversations with audio and text turns, from cuts.

#include <string>
#include <vector>

#include "conversations/prompt_format.h"
#include "s2s/data/cuts.h"
#include "streams/prompt_cut.h"

namespace s2s::data {

/// An audio turn's text is "" or, where words of the same turn stand around the audio, that text
/// with the tag.
struct AudioConversation {
  std::string id;
  std::string place;          // for messages
  std::string system_prompt;  // custom field of that name; "": none
  std::vector<SpokenOrWritten> turns;
};

/// Turns for conversations that have none of their role; "": none.
struct AddedTurns {
  std::string system;
  std::string user;  // with the tag: the text around the only audio; without: it comes first
};

/// A conversation of NeMo's files as it is. Any other cut becomes one, as NeMo's
/// lhotse_as_conversation does: custom field system_prompt (system), context (user), the cut's
/// audio (user), the text of its first turn (assistant).
/// With `needs_answer` false, a cut without text ends with its audio.
/// Errors: [data/prompt-turns] for a cut without text.
/// Source: NeMo cutset.py cut_to_conversation.
AudioConversation conversation_of(const Cut& cut, bool needs_answer = true);

/// The conversation without the assistant's turns at its end: what an answer is asked for. It may
/// have no turns.
AudioConversation without_answer(AudioConversation conversation);

/// Adds a text of the user where the user has written none, and one of the system where there is
/// none.
/// Errors: [data/prompt-turns] for a text with the tag and not exactly one audio.
/// Source: NeMo examples/speechlm2 salm_generate.py attach_system_and_user_turns and, for a text
/// with the tag, salm_eval.py.
void add_turns(AudioConversation& conversation, const AddedTurns& added, const std::string& tag);

/// How conversations become rows of a batch.
struct ConversationRules {
  PromptFormat prompt_format;
  std::string audio_locator_tag = "<|audioplaceholder|>";
  int64_t sample_rate_hz = 16000;
  double token_equivalent_duration_s = 0;  // 0: unknown
  bool has_prompts = false;                // batches have prompt_ids
  bool needs_answer = true;                // of a cut
  AddedTurns added;
};

/// The ids and loss mask of a conversation; an audio is one tag.
/// Errors: [data/prompt-format], [data/prompt-turns]; the latter also where a text has the tag.
EncodedPrompt encode_conversation(const AudioConversation& conversation,
                                  const ConversationRules& rules, const Tokenizer& tokenizer);

/// Positions that a conversation takes: its ids, with ceil(duration / token_equivalent_duration)
/// for each audio.
struct ConversationLength {
  int64_t input = 0;   // without the answer at its end
  int64_t output = 0;  // that answer
  int64_t total() const { return input + output; }
};
/// Source: NeMo text_adapters.py input_length, output_length.
ConversationLength length_of(const AudioConversation& conversation, const ConversationRules& rules,
                             const Tokenizer& tokenizer);

}  // namespace s2s::data
