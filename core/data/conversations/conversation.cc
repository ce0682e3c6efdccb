#include "conversations/conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/fnv.h"
#include "conversations/conversation_errors.h"

namespace s2s::data {
namespace {

int64_t count_of(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// A tag in a text would be taken for the place of an audio.
void check_tags(const AudioConversation& conversation, const ConversationRules& rules) {
  for (const SpokenOrWritten& turn : conversation.turns) {
    if (turn.audio || count_of(turn.text, rules.audio_locator_tag) == 0) continue;
    const auto num_audios =
        std::count_if(conversation.turns.begin(), conversation.turns.end(),
                      [](const SpokenOrWritten& other) { return other.audio != nullptr; });
    throw conversation_errors::prompt(
        conversation.place, rules.prompt_format,
        fmt::format("a text turn contains the tag {}, which stands for an audio; the conversation "
                    "has {} audio turns",
                    rules.audio_locator_tag, num_audios),
        "the audio as a turn of its own, or the text without the tag");
  }
}

}  // namespace

AudioConversation conversation_of(const Cut& cut) {
  AudioConversation conversation{cut.id, cut.place(), cut.custom_text("system_prompt").value_or(""),
                                 turns_of_prompt_cut(cut)};
  if (!conversation.turns.empty()) return conversation;
  if (cut.supervisions.empty() || !cut.supervisions.front().text) {
    throw conversation_errors::prompt(conversation.place, "any", "the cut has no text",
                                      "the answer as the text of its first turn");
  }
  auto& turns = conversation.turns;
  if (!conversation.system_prompt.empty()) {
    turns.push_back({"system", conversation.system_prompt, nullptr});
  }
  if (const auto context = cut.custom_text("context")) turns.push_back({"user", *context, nullptr});
  turns.push_back({"user", "", std::make_shared<const Cut>(cut)});
  turns.push_back({"assistant", *cut.supervisions.front().text, nullptr});
  return conversation;
}

EncodedPrompt encode_conversation(const AudioConversation& conversation,
                                  const ConversationRules& rules, const Tokenizer& tokenizer) {
  check_tags(conversation, rules);
  PromptRules prompt;
  prompt.format = rules.prompt_format;
  prompt.seed = fnv1a(conversation.id) >> 1;
  std::vector<PromptTurn> turns;
  for (const SpokenOrWritten& turn : conversation.turns) {
    turns.push_back({turn.role, turn.audio ? rules.audio_locator_tag : turn.text});
  }
  if (prompt.format == "llama2") {  // it has the system's text in the first turn of the user
    prompt.system_prompt = conversation.system_prompt;
    if (turns.size() > 1 && turns.front().role == "system") {
      prompt.system_prompt = turns.front().text;
      turns.erase(turns.begin());
    }
  }
  return encode_prompt(std::move(turns), prompt, tokenizer, conversation.place);
}

int64_t num_positions(const AudioConversation& conversation, const ConversationRules& rules,
                      const Tokenizer& tokenizer, bool whole) {
  const EncodedPrompt prompt = encode_conversation(conversation, rules, tokenizer);
  auto count = static_cast<int64_t>(prompt.ids.size());
  if (!whole) {
    while (count > 0 && prompt.mask[static_cast<size_t>(count - 1)]) --count;
  }
  for (size_t i = 0; i < conversation.turns.size(); ++i) {
    const SpokenOrWritten& turn = conversation.turns[i];
    if (!turn.audio || (!whole && i + 1 == conversation.turns.size())) continue;
    count += static_cast<int64_t>(
                 std::ceil(turn.audio->duration_s / rules.token_equivalent_duration_s)) -
             1;
  }
  return count;
}

}  // namespace s2s::data
