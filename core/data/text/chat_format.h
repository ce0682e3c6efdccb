#pragma once
// Chat messages as text, by a Jinja template.

#include <string>
#include <utility>
#include <vector>

#include "s2s/kinds/tokenizer.h"
#include "text/chat_template.h"
#include "text/text_line.h"

namespace s2s::data {

/// Where a chat template is looked for.
struct ChatTemplatePlace {
  std::string chat_template;  // tokenizer, chatml, or a file
  std::string path;           // of the data set's options, for messages
  std::string base_dir = ".";
};

class ChatFormat {
 public:
  /// Errors: [data/chat-template].
  ChatFormat(const ChatTemplatePlace& where, const Tokenizer& tokenizer);

  /// Text of the messages. Texts of message i keep the mark i, generation blocks have the mark
  /// jinja::kGenerated. `place`: of the messages. Errors: [data/chat-template].
  /// Source: transformers' apply_chat_template.
  jinja::MarkedText render(const jinja::Value& messages, bool add_generation_prompt,
                           const std::string& place,
                           const jinja::Value& tools = jinja::Value::none()) const;
  /// True if the template says itself what the model is to learn.
  bool has_generation_blocks() const { return template_.has_generation_blocks(); }

 private:
  struct Source {
    std::string name;  // for messages
    std::string text;
    std::vector<std::pair<std::string, jinja::Value>> variables;  // bos_token, ...
  };
  static Source find_source(const ChatTemplatePlace& where, const Tokenizer& tokenizer);
  explicit ChatFormat(Source source);

  Source source_;
  ChatTemplate template_;
};

}  // namespace s2s::data
