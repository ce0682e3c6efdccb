#pragma once
// From the turns of a conversation to ids and a loss mask.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/data/prompt_format.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::data {

inline constexpr const char* kAssistant = "assistant";

/// A text with a role. The tag takes the place of an audio.
struct PromptTurn {
  std::string role;  // system, user, assistant
  std::string text;
};

/// The options of encoding.
struct PromptRules {
  const PromptFormat* format = nullptr;
  std::string system_prompt;  // where the first turn contains it; "": none
  uint64_t seed = 0;          // formats with thoughts draw where they write "/no_think"
  bool thinking = true;       // false begins an open answer with an empty thought
};

struct EncodedPrompt {
  std::vector<int64_t> ids;
  /// One element per id: whether the loss counts it. All are false if no answer is at the end.
  std::vector<bool> mask;
};

/// The format of this name. `place`: of the name, for messages. Errors: [data/prompt-format].
const PromptFormat& find_prompt_format(const std::vector<PromptFormat>& formats,
                                       const std::string& name, const std::string& place);

/// Ids and loss mask of a conversation. Turns with the role of the one before are joined with one
/// space. If the last turn is not the assistant's, what begins an answer follows it.
/// The loss counts all answers, with what ends them, or the last one only.
/// `place`: of the conversation, for messages.
/// Errors: [data/prompt-turns] for a role that the format does not have, for answers whose thoughts
/// have no beginning or end, and for a BOS or EOS that the tokenizer lacks; [data/prompt-format].
/// Source: NeMo collections/common/prompts (formatter.py, llama.py, gemma.py, qwen.py),
/// text_adapters.py and speechlm2/data/salm_dataset.py.
EncodedPrompt encode_prompt(std::vector<PromptTurn> turns, const PromptRules& rules,
                            const Tokenizer& tokenizer, const std::string& place);

}  // namespace s2s::data
