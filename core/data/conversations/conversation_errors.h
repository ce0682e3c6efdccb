#pragma once
// Errors of conversations with audio.

#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::data::conversation_errors {

/// [data/prompt-turns]: a conversation that its prompt format cannot write.
Error prompt(const std::string& place, const std::string& format, const std::string& problem,
             const std::string& expected);
/// [data/prompt-format]: a name that is no prompt format.
Error prompt_format(const std::string& place, const std::string& name,
                    const std::vector<std::string>& known);
/// [data/token-duration]: use_multimodal_sampling without token_equivalent_duration.
Error no_token_duration(const std::string& place);

}  // namespace s2s::data::conversation_errors
