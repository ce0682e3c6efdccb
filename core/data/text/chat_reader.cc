#include "text/chat_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "s2s/foreign_text.h"
#include "text/text_errors.h"

namespace s2s::data {
namespace {

using jinja::Dict;
using jinja::MarkedText;
using jinja::Value;

using Object = simdjson::dom::object;

/// `tag` marks the texts in the value; without it they are not marked.
Value value_of(JsonValue json, std::optional<int64_t> tag) {
  std::string_view text;
  if (json.get(text) == simdjson::SUCCESS) {
    return tag ? Value::of(MarkedText::from(std::string(text), *tag))
               : Value::of(std::string(text));
  }
  simdjson::dom::array list;
  if (json.get(list) == simdjson::SUCCESS) {
    jinja::Values items;
    for (const JsonValue item : list) items.push_back(value_of(item, tag));
    return Value::list(std::move(items));
  }
  Object object;
  if (json.get(object) == simdjson::SUCCESS) {
    Dict members;
    for (const auto& [key, item] : object) {
      members.set(Value::of(std::string(key)), value_of(item, tag));
    }
    return Value::of(std::move(members));
  }
  bool flag = false;
  if (json.get(flag) == simdjson::SUCCESS) return Value::of(flag);
  int64_t whole = 0;
  if (json.is_int64() && json.get(whole) == simdjson::SUCCESS) return Value::of(whole);
  const std::optional<double> number = json_number(json);
  return number ? Value::of(*number) : Value::none();
}

bool is_given(const Value* value) { return value != nullptr && !value->is<jinja::None>(); }

/// The names under which templates look for the reasoning of a message.
constexpr std::array<const char*, 3> kReasoning = {"reasoning_content", "thinking", "reasoning"};

/// Sets the reasoning under all names, so that each template finds the one that it reads.
void name_reasoning(Dict& message) {
  for (const char* name : kReasoning) {
    const Value* found = message.find(std::string_view(name));
    if (!is_given(found)) continue;
    const Value reasoning = *found;
    if (message.find(std::string_view("thinking")) == nullptr) message.set("thinking", reasoning);
    message.set("reasoning_content", reasoning);
    return;
  }
}

bool is_reasoning(std::string_view key) {
  return std::find(kReasoning.begin(), kReasoning.end(), key) != kReasoning.end();
}

/// Roles of ShareGPT's speakers. Source: LLaMA-Factory's data/README.md, Unsloth's
/// standardize_sharegpt.
/// Unsloth's standardize_sharegpt.
const std::map<std::string_view, const char*>& share_gpt_roles() {
  static const std::map<std::string_view, const char*> kRoles = {
      {"human", "user"},          {"user", "user"},       {"gpt", "assistant"},
      {"assistant", "assistant"}, {"model", "assistant"}, {"chatgpt", "assistant"},
      {"bing", "assistant"},      {"bard", "assistant"},  {"bot", "assistant"},
      {"system", "system"},       {"tool", "tool"},       {"observation", "tool"}};
  return kRoles;
}

}  // namespace

void ChatReader::fail(const std::string& problem) const {
  throw text_errors::messages(place_, fmt::format("message {} {}", messages_.size() + 1, problem));
}

void ChatReader::add_list(JsonValue json, bool is_learned) {
  simdjson::dom::array list;
  if (json.get(list) != simdjson::SUCCESS || list.size() == 0) {
    throw text_errors::messages(place_, "the messages are no list, or an empty one");
  }
  try {
    for (const JsonValue item : list) add_message(item, is_learned);
  } catch (const jinja::TemplateError& error) {  // nested too deeply, or too large
    throw text_errors::messages(place_, error.what());
  }
}

void ChatReader::add(const char* role, std::string content) {
  const auto tag = static_cast<int64_t>(messages_.size());
  Dict members;
  members.set("role", Value::of(role));
  members.set("content", Value::of(MarkedText::from(std::move(content), tag)));
  is_trained_.push_back(std::string_view(role) == "assistant");
  messages_.push_back(Value::of(std::move(members)));
}

void ChatReader::add_message(JsonValue item, bool is_learned) {
  const auto tag = static_cast<int64_t>(messages_.size());
  Object object;
  if (item.get(object) != simdjson::SUCCESS) fail("is no object");
  const bool is_share_gpt =
      object["role"].error() != simdjson::SUCCESS && object["from"].error() == simdjson::SUCCESS;
  Dict members;
  for (const auto& [key, value] : object) {
    std::string name(key);
    if (is_share_gpt && key == "from") {
      members.set("role", Value::of(role_of(value)));
      continue;
    }
    if (is_share_gpt && key == "value") name = "content";
    const bool is_content = name == "content" || is_reasoning(name);
    members.set(Value::of(name), value_of(value, is_content ? std::optional(tag) : std::nullopt));
  }
  const Value* role = members.find(std::string_view("role"));
  if (role == nullptr || !role->is_text()) fail("has no role");
  is_trained_.push_back(is_trained(role->text()->bytes(), members) && is_learned);
  name_reasoning(members);
  messages_.push_back(Value::of(std::move(members)));
}

std::string ChatReader::role_of(JsonValue from) const {
  std::string_view speaker;
  if (from.get(speaker) != simdjson::SUCCESS) fail("has no role");
  const auto found = share_gpt_roles().find(speaker);
  if (found != share_gpt_roles().end()) return found->second;
  std::string known;
  for (const auto& [name, role] : share_gpt_roles()) {
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  fail(fmt::format("is from '{}', and known are {}", printable_name(std::string(speaker)), known));
}

bool ChatReader::is_trained(const std::string& role, const Dict& members) const {
  const bool has_content = is_given(members.find(std::string_view("content")));
  const bool calls = is_given(members.find(std::string_view("tool_calls"))) ||
                     is_given(members.find(std::string_view("function_call")));
  if (!has_content && !calls) fail("has no content");
  if (role != "assistant") return false;
  const Value* weight = members.find(std::string_view("weight"));
  return weight == nullptr || !weight->is_number() || weight->number() != 0;
}

void ChatReader::set_system(const std::string& text) {
  if (text.empty()) return;
  S2S_ASSERT(messages_.empty(), "marks count the messages from the first");
  add("system", text);
}

std::string ChatReader::role_at(size_t index) const {
  return messages_[index].dict()->find(std::string_view("role"))->text()->bytes();
}

void ChatReader::leave_answers_out() {
  size_t count = messages_.size();
  while (count > 0 && role_at(count - 1) == "assistant") --count;
  if (count == 0) {
    throw text_errors::messages(place_, "all messages are the assistant's, which answer none");
  }
  messages_.resize(count);
  is_trained_.resize(count);
}

TextLine ChatReader::take(Value tools) {
  TextLine line;
  line.form = TextLine::Form::kChat;
  try {
    line.messages = Value::list(std::move(messages_));
  } catch (const jinja::TemplateError& error) {
    throw text_errors::messages(place_, error.what());
  }
  line.is_trained = std::move(is_trained_);
  line.tools = std::move(tools);
  return line;
}

Value read_tools(JsonValue json, const std::string& place) {
  if (json.is_null()) return Value::none();
  simdjson::dom::parser parser;  // the line's own parser is in use
  std::string_view text;
  if (json.get(text) == simdjson::SUCCESS) {
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return Value::none();
    if (parser.parse(text).get(json) != simdjson::SUCCESS) {
      throw text_errors::messages(place, "'tools' is a text that is no JSON");
    }
  }
  simdjson::dom::array list;
  if (json.get(list) != simdjson::SUCCESS) {
    throw text_errors::messages(place, "'tools' is no list");
  }
  try {
    return list.size() == 0 ? Value::none() : value_of(json, std::nullopt);
  } catch (const jinja::TemplateError& error) {
    throw text_errors::messages(place, error.what());
  }
}

}  // namespace s2s::data
