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

/// Refuses the tag in a text, because it would be mistaken for an audio.
void check_tags(const AudioConversation& conversation, const ConversationRules& rules) {
  for (const SpokenOrWritten& turn : conversation.turns) {
    if (turn.audio || count_of(turn.text, rules.audio_locator_tag) == 0) continue;
    const auto num_audios =
        std::count_if(conversation.turns.begin(), conversation.turns.end(),
                      [](const SpokenOrWritten& other) { return other.audio != nullptr; });
    throw conversation_errors::prompt(
        conversation.place, rules.prompt_format.name,
        fmt::format("a text turn contains the tag {}, which marks an audio; the conversation "
                    "has {} audio turns",
                    rules.audio_locator_tag, num_audios),
        "the audio as a turn of its own, or the text without the tag");
  }
}

}  // namespace

AudioConversation conversation_of(const Cut& cut, bool needs_answer) {
  AudioConversation conversation{cut.id, cut.place(), cut.custom_text("system_prompt").value_or(""),
                                 turns_of_prompt_cut(cut)};
  if (!conversation.turns.empty()) return conversation;
  const bool has_answer = !cut.supervisions.empty() && cut.supervisions.front().text;
  if (!has_answer && needs_answer) {
    throw conversation_errors::prompt(conversation.place, "any", "the cut has no text",
                                      "the answer as the text of its first turn");
  }
  auto& turns = conversation.turns;
  if (!conversation.system_prompt.empty()) {
    turns.push_back({"system", conversation.system_prompt, nullptr});
  }
  if (const auto context = cut.custom_text("context")) turns.push_back({"user", *context, nullptr});
  turns.push_back({"user", "", std::make_shared<const Cut>(cut)});
  if (has_answer) turns.push_back({kAssistant, *cut.supervisions.front().text, nullptr});
  return conversation;
}

AudioConversation without_answer(AudioConversation conversation) {
  auto& turns = conversation.turns;
  while (!turns.empty() && turns.back().role == kAssistant) turns.pop_back();
  return conversation;
}

void add_turns(AudioConversation& conversation, const AddedTurns& added, const std::string& tag) {
  auto& turns = conversation.turns;
  const auto has = [&](const std::string& role, bool counts_audio) {
    return std::any_of(turns.begin(), turns.end(), [&](const SpokenOrWritten& turn) {
      return turn.role == role && (counts_audio || !turn.audio);
    });
  };
  if (!added.user.empty() && !has("user", false)) {
    const auto is_audio = [](const SpokenOrWritten& turn) { return turn.audio != nullptr; };
    const auto num_audios = std::count_if(turns.begin(), turns.end(), is_audio);
    if (count_of(added.user, tag) == 0) {
      turns.insert(turns.begin(), {"user", added.user, nullptr});
    } else if (num_audios == 1 && count_of(added.user, tag) == 1) {
      std::find_if(turns.begin(), turns.end(), is_audio)->text = added.user;
    } else {
      throw conversation_errors::prompt(
          conversation.place, "any",
          fmt::format("{} audios, and the user's prompt has {} places for them ({})", num_audios,
                      count_of(added.user, tag), tag),
          "a prompt without the tag, which comes before the audio, or with one tag for one audio");
    }
  }
  if (!added.system.empty() && !has("system", true)) {
    turns.insert(turns.begin(), {"system", added.system, nullptr});
  }
}

EncodedPrompt encode_conversation(const AudioConversation& conversation,
                                  const ConversationRules& rules, const Tokenizer& tokenizer) {
  check_tags(conversation, rules);
  PromptRules prompt;
  prompt.format = &rules.prompt_format;
  prompt.seed = fnv1a(conversation.id) >> 1;
  std::vector<PromptTurn> turns;
  for (const SpokenOrWritten& turn : conversation.turns) {
    const bool is_bare = turn.audio && turn.text.empty();
    turns.push_back({turn.role, is_bare ? rules.audio_locator_tag : turn.text});
  }
  if (!prompt.format->system_before.empty()) {
    prompt.system_prompt = conversation.system_prompt;
    if (turns.size() > 1 && turns.front().role == "system") {
      prompt.system_prompt = turns.front().text;
      turns.erase(turns.begin());
    }
  }
  return encode_prompt(std::move(turns), prompt, tokenizer, conversation.place);
}

ConversationLength length_of(const AudioConversation& conversation, const ConversationRules& rules,
                             const Tokenizer& tokenizer) {
  const EncodedPrompt prompt = encode_conversation(conversation, rules, tokenizer);
  const auto first_of_answer =
      std::find(prompt.mask.rbegin(), prompt.mask.rend(), false).base() - prompt.mask.begin();
  ConversationLength length;
  length.input = first_of_answer;
  length.output = static_cast<int64_t>(prompt.ids.size()) - length.input;
  for (const SpokenOrWritten& turn : conversation.turns) {
    if (!turn.audio) continue;
    const double frames = std::ceil(turn.audio->duration_s / rules.token_equivalent_duration_s);
    const bool is_last = &turn == &conversation.turns.back();
    (is_last ? length.output : length.input) += static_cast<int64_t>(frames) - 1;
  }
  return length;
}

}  // namespace s2s::data
