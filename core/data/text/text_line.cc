#include "text/text_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "files/json_fields.h"
#include "s2s/foreign_text.h"
#include "text/text_errors.h"

namespace s2s::data {
namespace {

using jinja::Dict;
using jinja::MarkedText;
using jinja::Value;

using Object = simdjson::dom::object;

/// `tag`: of the texts in it; nothing: they are not marked.
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

/// The names under which templates look for a message's reasoning.
constexpr std::array<const char*, 3> kReasoning = {"reasoning_content", "thinking", "reasoning"};

/// As transformers: each template finds the reasoning under the name that it reads.
void name_reasoning(Dict& message) {
  for (const char* name : kReasoning) {
    const Value* found = message.find(std::string_view(name));
    if (found == nullptr) continue;
    const Value reasoning = *found;
    if (message.find(std::string_view("thinking")) == nullptr) message.set("thinking", reasoning);
    message.set("reasoning_content", reasoning);
    return;
  }
}

bool is_reasoning(std::string_view key) {
  return std::find(kReasoning.begin(), kReasoning.end(), key) != kReasoning.end();
}

bool has_text(const Value* content) {
  return content != nullptr && (!content->is_text() || content->text()->size() > 0);
}

class ChatReader {
 public:
  /// `is_prompt`: what the assistant says last is left out.
  explicit ChatReader(std::string place, bool is_prompt = false)
      : place_(std::move(place)), is_prompt_(is_prompt) {}

  TextLine read(JsonValue json) {
    simdjson::dom::array list;
    if (json.get(list) != simdjson::SUCCESS || list.size() == 0) {
      throw text_errors::messages(place_, "the messages are no list, or an empty one");
    }
    try {
      return chat(list);
    } catch (const jinja::TemplateError& error) {  // nested too deep, or too large
      throw text_errors::messages(place_, error.what());
    }
  }

 private:
  TextLine chat(const simdjson::dom::array& list) {
    TextLine line;
    line.form = TextLine::Form::kChat;
    jinja::Values messages;
    const size_t count = is_prompt_ ? num_asked(list) : list.size();
    for (const JsonValue item : list) {
      if (messages.size() < count) messages.push_back(message(item, line));
    }
    line.messages = Value::list(std::move(messages));
    return line;
  }

  [[noreturn]] void fail(size_t index, const std::string& problem) const {
    throw text_errors::messages(place_, fmt::format("message {} {}", index + 1, problem));
  }

  /// Messages up to the last that is not the assistant's.
  size_t num_asked(const simdjson::dom::array& list) const {
    size_t count = 0, index = 0;
    for (const JsonValue item : list) {
      ++index;
      std::string_view role;
      if (item["role"].get(role) != simdjson::SUCCESS || role != "assistant") count = index;
    }
    if (count > 0) return count;
    throw text_errors::messages(place_, "all messages are the assistant's, which answer none");
  }

  Value message(JsonValue item, TextLine& line) const {
    const size_t index = line.is_trained.size();
    Object object;
    if (item.get(object) != simdjson::SUCCESS) fail(index, "is no object");
    Dict members;
    for (const auto& [key, value] : object) {
      if (value.is_null()) continue;
      const bool is_content = key == "content" || is_reasoning(key);
      members.set(
          Value::of(std::string(key)),
          value_of(value, is_content ? std::optional(static_cast<int64_t>(index)) : std::nullopt));
    }
    const Value* role = members.find(std::string_view("role"));
    if (role == nullptr || !role->is_text()) fail(index, "has no role");
    line.is_trained.push_back(is_trained(index, role->text()->bytes(), members));
    name_reasoning(members);
    return Value::of(std::move(members));
  }

  bool is_trained(size_t index, const std::string& role, const Dict& members) const {
    const Value* content = members.find(std::string_view("content"));
    const bool calls = members.find(std::string_view("tool_calls")) != nullptr ||
                       members.find(std::string_view("function_call")) != nullptr;
    if (content == nullptr && !calls) fail(index, "has no content");
    if (role != "assistant") return false;
    if (!has_text(content) && !calls) {
      throw text_errors::empty_response(place_,
                                        fmt::format("the assistant's message {}", index + 1));
    }
    const Value* weight = members.find(std::string_view("weight"));
    return weight == nullptr || !weight->is_number() || weight->number() != 0;
  }

  std::string place_;
  bool is_prompt_;
};

class LineParser {
 public:
  LineParser(const DocumentOptions& options, const LinePlace& place)
      : options_(options), place_(place) {}

  TextLine parse(JsonValue json) {
    if (json.get(object_) != simdjson::SUCCESS) {
      throw text_errors::keys(place_.text(), "the line is no JSON object", expected());
    }
    const bool is_auto = options_.format == "auto";
    if (options_.format == "messages" || (is_auto && has(options_.messages_key))) return chat();
    const bool has_pair = has(options_.prompt_key) && has(options_.response_key);
    if (options_.format == "prompt_response" || (is_auto && has_pair)) {
      return pair(require(options_.prompt_key), options_.response_key);
    }
    if (is_auto && has("instruction") && has("output")) return pair(alpaca_prompt(), "output");
    if (is_auto && has("prompt") && has("completion")) return pair(require("prompt"), "completion");
    if (is_auto && !has(options_.text_key)) {
      throw text_errors::keys(place_.text(), "the line has the keys " + found_keys(), expected());
    }
    TextLine line;
    line.text = require(options_.text_key);
    return line;
  }

  TextLine parse_prompt(JsonValue json) {
    if (json.get(object_) != simdjson::SUCCESS) {
      throw text_errors::prompt(place_.text(), "the line is no JSON object", options_);
    }
    if (has(options_.messages_key)) return chat(/*is_prompt=*/true);
    TextLine line;
    line.form = TextLine::Form::kPair;
    if (has("instruction")) {
      line.text = alpaca_prompt();
    } else if (has(options_.prompt_key)) {
      line.text = require(options_.prompt_key);
    } else {
      throw text_errors::prompt(place_.text(), "the line has the keys " + found_keys(), options_);
    }
    return line;
  }

 private:
  bool has(const std::string& key) const {
    const auto found = object_[key];
    return found.error() == simdjson::SUCCESS && !found.value_unsafe().is_null();
  }

  std::string expected() const {
    const std::string pair = options_.prompt_key + " and " + options_.response_key;
    if (options_.format == "text") return options_.text_key;
    if (options_.format == "prompt_response") return pair;
    if (options_.format == "messages") return options_.messages_key;
    return fmt::format("{}, or {}, or {}, or instruction and output", options_.messages_key, pair,
                       options_.text_key);
  }

  std::string found_keys() const {
    std::string names;
    for (const auto& [key, value] : object_) {
      names += (names.empty() ? "'" : ", '") + std::string(key) + "'";
    }
    return names.empty() ? "(none)" : printable_name(names.substr(0, 200));
  }

  std::string require(const std::string& key) const {
    const auto found = object_[key];
    if (found.error() != simdjson::SUCCESS) {
      throw text_errors::keys(place_.text(),
                              fmt::format("the line has no '{}', but {}", key, found_keys()),
                              expected());
    }
    std::string_view text;
    if (found.get(text) != simdjson::SUCCESS) {
      throw text_errors::keys(place_.text(), "'" + key + "' is no text", "a text");
    }
    return std::string(text);
  }

  TextLine pair(std::string prompt, const std::string& response_key) const {
    TextLine line;
    line.form = TextLine::Form::kPair;
    line.text = std::move(prompt);
    line.response = require(response_key);
    if (line.response.empty()) {
      throw text_errors::empty_response(place_.text(), "'" + response_key + "'");
    }
    return line;
  }

  /// The prompt that Alpaca-style data is meant for. Source: Stanford Alpaca's train.py.
  std::string alpaca_prompt() const {
    const std::string input = has("input") ? require("input") : "";
    const std::string task = require("instruction");
    if (input.empty()) {
      return "Below is an instruction that describes a task. Write a response that appropriately "
             "completes the request.\n\n### Instruction:\n" +
             task + "\n\n### Response:";
    }
    return "Below is an instruction that describes a task, paired with an input that provides "
           "further context. Write a response that appropriately completes the request.\n\n### "
           "Instruction:\n" +
           task + "\n\n### Input:\n" + input + "\n\n### Response:";
  }

  TextLine chat(bool is_prompt = false) const {
    const auto found = object_[options_.messages_key];
    if (found.error() != simdjson::SUCCESS) {
      throw text_errors::keys(place_.text(), "the line has the keys " + found_keys(), expected());
    }
    return ChatReader(place_.text(), is_prompt).read(found.value_unsafe());
  }

  const DocumentOptions& options_;
  const LinePlace& place_;
  Object object_;
};

}  // namespace

TextLine parse_text_line(const std::string& line, const DocumentOptions& options,
                         const std::string& file, int64_t line_number) {
  const LinePlace place{file, line_number};
  return LineParser(options, place).parse(parse_json_line(line, place));
}

TextLine parse_prompt_line(const std::string& line, const DocumentOptions& options,
                           const std::string& file, int64_t line_number) {
  const LinePlace place{file, line_number};
  return LineParser(options, place).parse_prompt(parse_json_line(line, place));
}

TextLine parse_messages(const std::string& json, const std::string& place) {
  return ChatReader(place).read(parse_json_line(json, LinePlace{place, 1}));
}

}  // namespace s2s::data
