#pragma once
// Errors of conversations with audio.

#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::data::conversation_errors {

/// [data/prompt-turns] The prompt format cannot express the conversation.
Error prompt(const std::string& place, const std::string& format, const std::string& problem,
             const std::string& expected);
/// [data/prompt-format] `name` is not a prompt format.
Error prompt_format(const std::string& place, const std::string& name,
                    const std::vector<std::string>& known);
/// [data/token-duration] use_multimodal_sampling is set without token_equivalent_duration.
Error no_token_duration(const std::string& place);

}  // namespace s2s::data::conversation_errors
