#pragma once
// Makes conversations with audio and text turns from cuts.

#include <string>
#include <vector>

#include "conversations/prompt_format.h"
#include "s2s/data/cuts.h"
#include "streams/prompt_cut.h"

namespace s2s::data {

/// A conversation. The text of an audio turn is "", or the turn's words with the tag in the place
/// of the audio.
struct AudioConversation {
  std::string id;
  std::string place;          // in messages
  std::string system_prompt;  // the custom field of that name; "": none
  std::vector<SpokenOrWritten> turns;
};

/// Turns that are added to conversations without a turn of that role; "": none.
struct AddedTurns {
  std::string system;
  /// With the tag: the text around the only audio; without it: comes before the audio.
  std::string user;
};

/// Returns a conversation of NeMo's files unchanged. Converts any other cut as NeMo's
/// lhotse_as_conversation does: the custom field system_prompt (system), the custom field context
/// (user), the cut's audio (user), and the text of its first turn (assistant). If `needs_answer` is
/// false, a cut without text ends with its audio.
/// Errors: [data/prompt-turns] for a cut without text.
/// Source: NeMo cutset.py cut_to_conversation.
AudioConversation conversation_of(const Cut& cut, bool needs_answer = true);

/// Removes the assistant's turns at the end, so that the rest asks for an answer. The rest may be
/// empty.
AudioConversation without_answer(AudioConversation conversation);

/// Adds a user's text if the user has written none, and a system prompt if there is none.
/// Errors: [data/prompt-turns] for a text with the tag unless there is exactly one audio.
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
  bool needs_answer = true;                // a cut needs one
  AddedTurns added;
};

/// Encodes a conversation to ids and a loss mask. The tag takes the place of an audio.
/// Errors: [data/prompt-format], [data/prompt-turns]; the latter also for a text that contains the
/// tag.
EncodedPrompt encode_conversation(const AudioConversation& conversation,
                                  const ConversationRules& rules, const Tokenizer& tokenizer);

/// Number of positions that a conversation takes: one per id, and ceil(duration /
/// token_equivalent_duration) for each audio.
struct ConversationLength {
  int64_t input = 0;   // without the answer at the end
  int64_t output = 0;  // the answer at the end
  int64_t total() const { return input + output; }
};
/// Source: NeMo text_adapters.py input_length, output_length.
ConversationLength length_of(const AudioConversation& conversation, const ConversationRules& rules,
                             const Tokenizer& tokenizer);

}  // namespace s2s::data
