#pragma once
// One line of a JSONL file of documents.

#include <string>
#include <vector>

#include "jinja/value.h"
#include "text/text_options.h"

namespace s2s::data {

struct TextLine {
  enum class Form { kText, kPair, kChat };
  Form form = Form::kText;
  std::string text;  // of a pair: the prompt
  std::string response;
  /// Messages as templates see them. Texts of the content of message i are marked with i.
  jinja::Value messages;
  jinja::Value tools = jinja::Value::none();  // of a chat
  std::vector<bool> is_trained;               // by message: the assistant's, unless its weight is 0
};

/// `place`: "file:line". Errors: [data/json], [data/text-keys], [data/empty-response],
/// [data/chat-messages].
TextLine parse_text_line(const std::string& line, const DocumentOptions& options,
                         const std::string& file, int64_t line_number);

/// The keys of a line with content that parse_text_line does not read, of those that files of
/// conversations use for what a model is to see or say: a `functions` beside messages, a `system`
/// beside a plain text. Empty for a line that has none, or that parse_text_line refuses.
std::vector<std::string> unread_keys(const std::string& line, const DocumentOptions& options);

/// A line that a model is to answer: messages (without what the assistant says last), a prompt, or
/// an instruction; a response is left out. `form` is kChat or kPair. Errors: [data/json],
/// [data/prompt], [data/text-keys] for a prompt that is no text, [data/chat-messages].
TextLine parse_prompt_line(const std::string& line, const DocumentOptions& options,
                           const std::string& file, int64_t line_number);

/// Messages of a chat from a JSON list of them. Errors: [data/json], [data/chat-messages].
TextLine parse_messages(const std::string& json, const std::string& place);

}  // namespace s2s::data
