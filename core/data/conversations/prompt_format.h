#pragma once
// The prompt formats of NeMo's model families: from turns of a conversation to ids and a loss mask.

#include <cstdint>
#include <string>
#include <vector>

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
  std::string format;         // a name of prompt_formats()
  std::string system_prompt;  // for llama2, whose first turn contains it; "": none
  uint64_t seed = 0;          // for qwen3, which draws where it writes "/no_think"
  bool thinking = true;       // for qwen3: false begins an open answer with empty thoughts
};

struct EncodedPrompt {
  std::vector<int64_t> ids;
  /// One element per id: whether the loss counts it. All are false if no answer is at the end.
  std::vector<bool> mask;
};

/// llama2, llama3, gemma, qwen, qwen3.
const std::vector<std::string>& prompt_formats();

/// Encodes a conversation to ids and a loss mask. Consecutive turns of one role are joined with a
/// space. If the last turn is not the assistant's, the text that begins an answer is added. The
/// loss counts all answers and the texts that end them; for qwen3 only the last answer. `place`
/// names the conversation in messages.
/// Errors: [data/prompt-turns] for a role that the format lacks, for answers whose thoughts lack a
/// begin or an end, and for a BOS or EOS that the tokenizer lacks; [data/prompt-format].
/// Source: NeMo collections/common/prompts (formatter.py, llama.py, gemma.py, qwen.py),
/// text_adapters.py and speechlm2/data/salm_dataset.py.
EncodedPrompt encode_prompt(std::vector<PromptTurn> turns, const PromptRules& rules,
                            const Tokenizer& tokenizer, const std::string& place);

}  // namespace s2s::data
