#pragma once
// Converts one conversation to a duplex dialogue.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s::data {

struct ConversationTurn {
  bool is_audio = false;
  bool is_user = false;
  bool is_assistant = false;
  std::string role;                 // in lower case
  std::string value;                // text, or the name of an audio file
  std::optional<std::string> text;  // for audio, if it is written
  double offset_s = 0;
  std::optional<double> duration_s;
  std::optional<Cut> cut;  // for audio, once it is found
};

struct Conversation {
  std::string id;
  std::string place;  // "file:line"
  std::string file;
  int64_t line = 0;
  bool is_skipped = false;
  std::vector<ConversationTurn> turns;
  CustomFields custom;
};

/// Parses NeMo's form. Errors: [data/conversation].
Conversation parse_conversation(const std::string& text, const std::string& file, int64_t line);
/// Parses ShareGPT's form, in which `placeholders` mark audio in a text. Errors:
/// [data/conversation].
Conversation parse_share_gpt(const std::string& text, const std::string& file, int64_t line,
                             const std::vector<std::string>& placeholders);

/// Seconds that it takes to say a text: its bytes / 15.
double spoken_seconds(const std::string& text);

/// Puts the turns one after the other.
/// Errors: [data/conversation] without audio of a user, or with several audio turns of the
/// assistant.
Cut dialogue_of(const Conversation& conversation);

}  // namespace s2s::data
