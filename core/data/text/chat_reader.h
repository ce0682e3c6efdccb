#pragma once
// Reads messages of a chat from JSON.

#include <string>
#include <vector>

#include "files/json_fields.h"
#include "jinja/value.h"
#include "text/text_line.h"

namespace s2s::data {

/// Collects the messages of one chat. Errors of all: [data/chat-messages].
class ChatReader {
 public:
  /// `place` is that of the line.
  explicit ChatReader(std::string place) : place_(std::move(place)) {}

  /// Sets a system message before all others, unless `text` is empty.
  void set_system(const std::string& text);
  /// Adds a message. The model learns what the assistant says.
  void add(const char* role, std::string content);
  /// Adds a list of {"role", "content", ...}, or of ShareGPT's {"from", "value"}. JSON's null
  /// becomes Jinja's none. With `is_learned` the model learns what the assistant says in it.
  void add_list(JsonValue json, bool is_learned = true);
  /// Removes the assistant's last messages, because the model is asked for them.
  void leave_answers_out();
  /// Returns the chat. `tools` come from read_tools.
  TextLine take(jinja::Value tools = jinja::Value::none());

 private:
  [[noreturn]] void fail(const std::string& problem) const;
  void add_message(JsonValue item, bool is_learned);
  std::string role_of(JsonValue from) const;
  std::string role_at(size_t index) const;
  bool is_trained(const std::string& role, const jinja::Dict& members) const;

  std::string place_;
  jinja::Values messages_;
  std::vector<bool> is_trained_;
};

/// Parses the value of `tools`: a list, or its JSON as a text. Returns none for null and for an
/// empty list.
/// Errors: [data/chat-messages].
jinja::Value read_tools(JsonValue json, const std::string& place);

}  // namespace s2s::data
