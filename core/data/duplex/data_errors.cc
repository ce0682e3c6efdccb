#include "duplex/data_errors.h"

#include <fmt/format.h>

namespace s2s::data_errors {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "'" : ", '") + name + "'";
  return all.empty() ? "(none)" : all;
}

}  // namespace

Error no_turns(const Cut& cut, const std::vector<std::string>& speakers,
               const std::vector<std::string>& roles) {
  return data_error(
      "data/no-turns",
      fmt::format(
          "{} has no turn of {}; its speakers are: {}; expected at least one turn; check "
          "data.input_roles and data.output_roles, or set allow_no_turns: true to train on silence",
          cut.place(), listed(roles), listed(speakers)));
}

Error no_text(const Cut& cut, const Supervision& turn) {
  return data_error("data/no-text",
                    fmt::format("{}: the turn '{}' of '{}' has no 'text'; expected the words that "
                                "are said in the turn; add the text or remove the turn",
                                cut.place(), turn.id, turn.speaker));
}

Error no_alignment(const Cut& cut, const Supervision& turn, const std::string& option) {
  return data_error(
      "data/no-alignment",
      fmt::format("{}: the turn '{}' has no word times ('alignment': {{'word': [...]}}); "
                  "data.{} needs them; add an alignment or set data.{}: turn",
                  cut.place(), turn.id, option, option.substr(0, option.find(':'))));
}

}  // namespace s2s::data_errors
