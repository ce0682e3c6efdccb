#include "text/text_line.h"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "files/json_fields.h"
#include "s2s/foreign_text.h"
#include "text/chat_reader.h"
#include "text/text_errors.h"

namespace s2s::data {
namespace {

using Object = simdjson::dom::object;

class LineParser {
 public:
  LineParser(const DocumentOptions& options, const LineLocation& place)
      : options_(options), place_(place) {}

  TextLine parse(JsonValue json) {
    if (json.get(object_) != simdjson::SUCCESS) {
      throw text_errors::keys(place_.text(), "the line is no JSON object", expected());
    }
    keys_ = find_keys();
    if (keys_ == Keys::kMessages) return chat();
    if (keys_ == Keys::kPair) return pair(options_.prompt_key, options_.response_key);
    if (keys_ == Keys::kAlpaca) return alpaca();
    if (keys_ == Keys::kCompletion) return pair("prompt", "completion");
    if (options_.format == "auto" && !has(options_.text_key)) {
      throw text_errors::keys(place_.text(), "the line has the keys " + found_keys(), expected());
    }
    TextLine line;
    line.text = require(options_.text_key);
    return line;
  }

  /// To be called after parse().
  std::vector<std::string> unread() const {
    static const std::set<std::string_view> kContent = {
        "answer",    "chosen",        "completion", "context",  "conversations",
        "documents", "functions",     "history",    "input",    "label",
        "messages",  "output",        "prompt",     "rejected", "instruction",
        "system",    "system_prompt", "response",   "text",     "tools"};
    const std::set<std::string> read = read_keys();
    std::vector<std::string> keys;
    for (const auto& [key, value] : object_) {
      const bool is_empty = value.is_null() || is_empty_value(value);
      if (kContent.contains(key) && !is_empty && !read.contains(std::string(key))) {
        keys.emplace_back(key);
      }
    }
    return keys;
  }

  TextLine parse_prompt(JsonValue json) {
    if (json.get(object_) != simdjson::SUCCESS) {
      throw text_errors::prompt(place_.text(), "the line is no JSON object", options_);
    }
    if (!messages_key().empty()) return chat(/*is_prompt=*/true);
    if (has("instruction") && is_conversation()) return alpaca_chat(/*is_prompt=*/true);
    if (is_list(options_.prompt_key)) {
      ChatReader reader(place_.text());
      reader.add_list(object_[options_.prompt_key].value_unsafe());
      reader.leave_answers_out();
      return reader.take(tools());
    }
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
  enum class Keys { kMessages, kPair, kAlpaca, kCompletion, kText };

  /// Finds the form whose keys the line has.
  Keys find_keys() const {
    const bool is_auto = options_.format == "auto";
    if (options_.format == "messages" || (is_auto && !messages_key().empty())) {
      return Keys::kMessages;
    }
    const bool has_pair = has(options_.prompt_key) && has(options_.response_key);
    if (options_.format == "prompt_response" || (is_auto && has_pair)) return Keys::kPair;
    if (is_auto && has("instruction") && has("output")) return Keys::kAlpaca;
    if (is_auto && has("prompt") && has("completion")) return Keys::kCompletion;
    return Keys::kText;
  }

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

  bool is_list(const std::string& key) const {
    return has(key) && object_[key].value_unsafe().is_array();
  }

  /// Returns a text, or "" if it is missing.
  std::string text_or_none(const std::string& key) const { return has(key) ? require(key) : ""; }

  /// Returns the key of the line's messages, also ShareGPT's, or "".
  std::string messages_key() const {
    if (has(options_.messages_key)) return options_.messages_key;
    const bool is_default = options_.messages_key == DocumentOptions().messages_key;
    return is_default && is_list("conversations") ? "conversations" : "";
  }

  /// Whether the line has keys of LLaMA-Factory that make it more than one prompt.
  bool is_conversation() const {
    return !text_or_none("system").empty() || !history().empty() || !tools().is<jinja::None>();
  }

  jinja::Value tools() const {
    return has("tools") ? read_tools(object_["tools"].value_unsafe(), place_.text())
                        : jinja::Value::none();
  }

  TextLine pair(const std::string& prompt_key, const std::string& response_key) const {
    if (is_list(prompt_key)) return chat_pair(prompt_key, response_key);
    TextLine line = plain_pair(require(prompt_key), response_key);
    if (!is_conversation()) return line;
    return answered(std::move(line.text), std::move(line.response));
  }

  TextLine plain_pair(std::string prompt, const std::string& response_key) const {
    TextLine line;
    line.form = TextLine::Form::kPair;
    line.text = std::move(prompt);
    line.response = require(response_key);
    if (line.response.empty()) {
      throw text_errors::empty_response(place_.text(), "'" + response_key + "'");
    }
    return line;
  }

  /// TRL's conversational form, in which only the completion is learned.
  TextLine chat_pair(const std::string& prompt_key, const std::string& response_key) const {
    ChatReader reader(place_.text());
    reader.add_list(object_[prompt_key].value_unsafe(), /*is_learned=*/false);
    const auto response = object_[response_key];
    if (response.error() != simdjson::SUCCESS || !response.value_unsafe().is_array()) {
      throw text_errors::keys(
          place_.text(),
          fmt::format("'{}' is a list of messages, and '{}' is none", prompt_key, response_key),
          "messages in both");
    }
    reader.add_list(response.value_unsafe());
    return reader.take(tools());
  }

  /// Makes a chat of `system`, `history`, and a last question with its answer.
  TextLine answered(std::string question, std::string answer, bool is_prompt = false) const {
    ChatReader reader(place_.text());
    reader.set_system(text_or_none("system"));
    for (const auto& [asked, said] : history()) {
      reader.add("user", asked);
      reader.add("assistant", said);
    }
    reader.add("user", std::move(question));
    if (!is_prompt) reader.add("assistant", std::move(answer));
    return reader.take(tools());
  }

  /// Returns earlier questions and their answers.
  std::vector<std::pair<std::string, std::string>> history() const {
    std::vector<std::pair<std::string, std::string>> turns;
    simdjson::dom::array list;
    if (!has("history")) return turns;
    if (object_["history"].get(list) != simdjson::SUCCESS) throw no_history();
    for (const JsonValue turn : list) {
      std::string_view asked, said;
      const bool is_turn = turn.is_array() && turn.at(0).get(asked) == simdjson::SUCCESS &&
                           turn.at(1).get(said) == simdjson::SUCCESS;
      if (!is_turn) break;
      turns.emplace_back(asked, said);
    }
    if (turns.size() != list.size()) throw no_history();
    return turns;
  }

  Error no_history() const {
    return text_errors::keys(place_.text(), "'history' is no list of [question, answer]",
                             "a list of two texts for each turn");
  }

  TextLine alpaca() const {
    return is_conversation() ? alpaca_chat(/*is_prompt=*/false)
                             : plain_pair(alpaca_prompt(), "output");
  }

  /// Alpaca's keys with `system` or `history` are a chat.
  /// Source: LLaMA-Factory's AlpacaDatasetConverter.
  TextLine alpaca_chat(bool is_prompt) const {
    const std::string input = text_or_none("input");
    const std::string task = require("instruction");
    std::string answer = is_prompt ? "" : require("output");
    return answered(input.empty() ? task : task + "\n" + input, std::move(answer), is_prompt);
  }

  /// Returns the prompt in Alpaca's format. Source: Stanford Alpaca's train.py.
  std::string alpaca_prompt() const {
    const std::string input = text_or_none("input");
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
    const std::string key = messages_key();
    if (key.empty()) {
      throw text_errors::keys(place_.text(), "the line has the keys " + found_keys(), expected());
    }
    ChatReader reader(place_.text());
    const JsonValue list = object_[key].value_unsafe();
    if (!begins_with_system(list)) reader.set_system(text_or_none("system"));
    reader.add_list(list);
    if (is_prompt) reader.leave_answers_out();
    return reader.take(tools());
  }

  static bool begins_with_system(JsonValue list) {
    for (const char* key : {"role", "from"}) {
      std::string_view role;
      if (list.at(0)[key].get(role) == simdjson::SUCCESS && role == "system") return true;
    }
    return false;
  }

  /// Returns the keys that are read for the line's form.
  std::set<std::string> read_keys() const {
    std::set<std::string> keys = {"tools"};
    if (keys_ == Keys::kMessages) {
      keys.insert(messages_key());
      if (!begins_with_system(object_[messages_key()].value_unsafe())) keys.insert("system");
      return keys;
    }
    if (keys_ == Keys::kText) return {options_.text_key};
    const bool is_alpaca = keys_ == Keys::kAlpaca, is_pair = keys_ == Keys::kPair;
    const std::string prompt = is_pair ? options_.prompt_key : "prompt";
    if (is_alpaca) {
      keys.insert({"instruction", "input", "output"});
    } else {
      keys.insert({prompt, is_pair ? options_.response_key : "completion"});
    }
    if (is_alpaca || !is_list(prompt)) keys.insert({"system", "history"});
    return keys;
  }

  static bool is_empty_value(JsonValue value) {
    std::string_view text;
    simdjson::dom::array list;
    simdjson::dom::object object;
    if (value.get(text) == simdjson::SUCCESS) return text.empty();
    if (value.get(list) == simdjson::SUCCESS) return list.size() == 0;
    return value.get(object) == simdjson::SUCCESS && object.size() == 0;
  }

  const DocumentOptions& options_;
  const LineLocation& place_;
  Object object_;
  Keys keys_ = Keys::kText;
};

}  // namespace

TextLine parse_text_line(const std::string& line, const DocumentOptions& options,
                         const std::string& file, int64_t line_number) {
  const LineLocation place{file, line_number};
  return LineParser(options, place).parse(parse_json_line(line, place));
}

std::vector<std::string> unread_keys(const std::string& line, const DocumentOptions& options) {
  const LineLocation place{"", 1};
  LineParser parser(options, place);
  try {
    parser.parse(parse_json_line(line, place));
  } catch (const Error&) {
    return {};
  }
  return parser.unread();
}

TextLine parse_prompt_line(const std::string& line, const DocumentOptions& options,
                           const std::string& file, int64_t line_number) {
  const LineLocation place{file, line_number};
  return LineParser(options, place).parse_prompt(parse_json_line(line, place));
}

}  // namespace s2s::data
