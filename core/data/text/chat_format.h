#pragma once
// Writes chat messages as text, by a Jinja template.

#include <string>
#include <utility>
#include <vector>

#include "s2s/kinds/tokenizer.h"
#include "text/chat_template.h"
#include "text/text_line.h"

namespace s2s::data {

/// Which chat template to use.
struct ChatTemplateOptions {
  std::string chat_template;  // "tokenizer", "chatml", or a file
  std::string path;           // of the data set's options, in messages
  std::string base_dir = ".";
};

class ChatFormat {
 public:
  /// Errors: [data/chat-template].
  ChatFormat(const ChatTemplateOptions& where, const Tokenizer& tokenizer);

  /// Returns the text of the messages. Texts of message i keep the mark i, and generation blocks
  /// have the mark jinja::kGenerated. `place` is that of the messages.
  /// Errors: [data/chat-template].
  /// Source: transformers' apply_chat_template.
  jinja::MarkedText render(const jinja::Value& messages, bool add_generation_prompt,
                           const std::string& place,
                           const jinja::Value& tools = jinja::Value::none()) const;
  /// Whether the template itself says what the model is to learn.
  bool has_generation_blocks() const { return template_.has_generation_blocks(); }

 private:
  struct Source {
    std::string name;  // in messages
    std::string text;
    std::vector<std::pair<std::string, jinja::Value>> variables;  // bos_token, ...
  };
  static Source find_source(const ChatTemplateOptions& where, const Tokenizer& tokenizer);
  explicit ChatFormat(Source source);

  Source source_;
  ChatTemplate template_;
};

}  // namespace s2s::data
