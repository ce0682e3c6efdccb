#include "conversations/conversation_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace s2s::data::conversation_errors {

Error prompt(const std::string& place, const std::string& format, const std::string& problem,
             const std::string& expected) {
  return {
      ExitCode::kData, "data/prompt-turns",
      fmt::format("{}: {} (prompt_format: {})\n  expected: {}", place, problem, format, expected)};
}

Error prompt_format(const std::string& place, const std::string& name,
                    const std::vector<std::string>& known) {
  return {ExitCode::kConfig, "data/prompt-format",
          fmt::format("{}: prompt_format '{}' is not known\n  expected: one of {}", place, name,
                      fmt::join(known, ", "))};
}

Error no_token_duration(const std::string& place) {
  return {ExitCode::kConfig, "data/token-duration",
          fmt::format("{}: use_multimodal_sampling counts audio in tokens, but there is no "
                      "token_equivalent_duration\n  expected: the seconds of one frame of the "
                      "encoder, for example 0.08",
                      place)};
}

}  // namespace s2s::data::conversation_errors
