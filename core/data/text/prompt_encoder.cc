#include "text/prompt_encoder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "s2s/error.h"
#include "text/text_errors.h"

namespace s2s::data {
namespace {

using jinja::Dict;
using jinja::Mark;
using jinja::MarkedText;
using jinja::Value;

Value message_of(const char* role, MarkedText content) {
  Dict message;
  message.set("role", Value::of(role));
  message.set("content", Value::of(std::move(content)));
  return Value::of(std::move(message));
}

/// Returns the content of the last message if it is a text.
std::string last_content(const Value& messages) {
  const Value* content = messages.items()->items.back().dict()->find(std::string_view("content"));
  return content != nullptr && content->is_text() ? content->text()->bytes() : "";
}

}  // namespace

PromptEncoder::PromptEncoder(const DocumentOptions& options, const Tokenizer& tokenizer,
                             const std::string& path, const std::string& base_dir)
    : options_(options), tokenizer_(tokenizer), encoder_(options, tokenizer, path, base_dir) {}

AskedPrompt PromptEncoder::of_text(const std::string& text, const std::string& place) const {
  AskedPrompt prompt{text, text, encoder_.encode_prompt(text, /*is_chat=*/false)};
  if (prompt.ids.empty()) {
    throw text_errors::prompt(
        place, "the prompt is empty, and the tokenizer has no BOS to begin with", options_);
  }
  return prompt;
}

AskedPrompt PromptEncoder::of_message(const std::string& message, const std::string& place) {
  return of_chat(Value::list({message_of("user", MarkedText(message))}), place);
}

AskedPrompt PromptEncoder::of_line(const std::string& json, const LineOrigin& origin) {
  const TextLine line = parse_prompt_line(json, options_, origin.file, origin.line);
  return line.form == TextLine::Form::kChat ? of_chat(line.messages, origin.text(), line.tools)
                                            : of_text(line.text, origin.text());
}

AskedPrompt PromptEncoder::of_chat(const Value& messages, const std::string& place,
                                   const Value& tools) {
  const std::string text =
      encoder_.chat_format().render(messages, /*add_generation_prompt=*/true, place, tools).bytes();
  AskedPrompt prompt{text, last_content(messages), encoder_.encode_prompt(text, true)};
  if (prompt.ids.empty()) {
    throw text_errors::prompt(place, "the chat template writes nothing for it", options_);
  }
  if (!std::exchange(has_turn_end_, true)) turn_end_ = find_turn_end(messages);
  return prompt;
}

/// Adds an answer to the chat. What the template writes after it ends the turn.
TurnEnd PromptEncoder::find_turn_end(const Value& messages) const {
  constexpr std::string_view kSpace = " \t\r\n";
  jinja::Values answered = messages.items()->items;
  const auto tag = static_cast<int64_t>(answered.size());
  answered.push_back(message_of("assistant", MarkedText::from("answer", tag)));
  std::string_view after;
  MarkedText text;
  try {
    text = encoder_.chat_format().render(Value::list(std::move(answered)), false, "");
  } catch (const Error&) {
    return {};  // the template refuses an answer here, so only EOS ends the turn
  }
  for (const Mark& mark : text.marks()) {
    if (mark.tag == tag) after = std::string_view(text.bytes()).substr(mark.end);
  }
  after.remove_prefix(std::min(after.find_first_not_of(kSpace), after.size()));
  if (after.empty()) return {};
  const std::vector<int64_t> ids = encoder_.encode_prompt(std::string(after), true);
  for (const int64_t id : ids) {
    const bool is_bos = id == encoder_.special_ids().bos;
    if (is_bos) continue;  // it is added in front
    const std::string piece = tokenizer_.piece(id);
    const bool is_control = id == encoder_.special_ids().eos || tokenizer_.decode({id}).empty();
    if (is_control && !piece.empty() && after.starts_with(piece)) return {{id}, {}};
    break;
  }
  return {{}, {std::string(after.substr(0, after.find_first_of(kSpace)))}};
}

}  // namespace s2s::data
