#pragma once
// One conversation as a duplex dialogue.

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
  std::optional<std::string> text;  // of audio, where it is written
  double offset_s = 0;
  std::optional<double> duration_s;
  std::optional<Cut> cut;  // of audio, when it has been found
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

/// NeMo's form. Errors: [data/conversation].
Conversation parse_conversation(const std::string& text, const std::string& file, int64_t line);
/// ShareGPT's: audio where a text has one of `placeholders`. Errors: [data/conversation].
Conversation parse_share_gpt(const std::string& text, const std::string& file, int64_t line,
                             const std::vector<std::string>& placeholders);

/// Seconds that a text of so many bytes takes to say: 15 in a second.
double spoken_seconds(const std::string& text);

/// The turns one after the other. Errors: [data/conversation] without audio of a user, or with more
/// than one audio turn of the assistant.
Cut dialogue_of(const Conversation& conversation);

}  // namespace s2s::data
