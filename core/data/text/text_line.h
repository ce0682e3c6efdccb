#pragma once
// Parses a line of a JSONL file of documents.

#include <string>
#include <vector>

#include "jinja/value.h"
#include "text/text_options.h"

namespace s2s::data {

struct TextLine {
  enum class Form { kText, kPair, kChat };
  Form form = Form::kText;
  std::string text;  // the prompt of a pair
  std::string response;
  /// The messages as templates see them. Texts in message i have the mark i.
  jinja::Value messages;
  jinja::Value tools = jinja::Value::none();  // for a chat
  std::vector<bool> is_trained;  // for each message: the assistant's, unless its weight is 0
};

/// `place` is "file:line".
/// Errors: [data/json], [data/text-keys], [data/empty-response], [data/chat-messages].
TextLine parse_text_line(const std::string& line, const DocumentOptions& options,
                         const std::string& file, int64_t line_number);

/// Returns keys of a line that have content and are not read by parse_text_line, although files of
/// conversations use them for what a model sees or says: for example `functions` beside messages,
/// or `system` beside a plain text. Empty for other lines and for lines that parse_text_line
/// refuses.
std::vector<std::string> unread_keys(const std::string& line, const DocumentOptions& options);

/// Parses a line that a model is asked to answer: messages (without the assistant's last ones), a
/// prompt, or an instruction. A response is left out. `form` is kChat or kPair.
/// Errors: [data/json], [data/prompt], [data/text-keys] for a prompt that is not a text,
/// [data/chat-messages].
TextLine parse_prompt_line(const std::string& line, const DocumentOptions& options,
                           const std::string& file, int64_t line_number);

}  // namespace s2s::data
