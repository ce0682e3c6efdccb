#pragma once
// What a model is to continue: texts, and chats up to the assistant's turn.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/kinds/tokenizer.h"
#include "text/document_encoder.h"

namespace s2s::data {

struct AskedPrompt {
  std::string text;          // what the model reads, without a BOS that the encoder adds
  std::string asked;         // for people: the text, or a chat's last message
  std::vector<int64_t> ids;  // BOS included
};

/// What a chat template writes behind the assistant's content.
struct TurnEnd {
  std::vector<int64_t> tokens;     // a control token, or nothing
  std::vector<std::string> texts;  // a text, where no control token stands there
};

class PromptEncoder {
 public:
  /// Arguments as for DocumentEncoder. Of the options, `format` and `labels` are not read.
  /// Errors: [tokenizer/special-ids] without EOS.
  PromptEncoder(const DocumentOptions& options, const Tokenizer& tokenizer, const std::string& path,
                const std::string& base_dir);

  /// A text to continue. `place`: of it, for messages. Errors: [data/prompt] for one without
  /// tokens.
  AskedPrompt of_text(const std::string& text, const std::string& place) const;
  /// A chat of one message of the user. Errors: [data/chat-template].
  AskedPrompt of_message(const std::string& message, const std::string& place);
  /// A line of a JSONL file. Errors: those of parse_prompt_line, [data/chat-template].
  AskedPrompt of_line(const std::string& json, const LineOrigin& origin);
  /// Of the template. Empty before the first chat, and if the template does not show it.
  const TurnEnd& turn_end() const { return turn_end_; }

 private:
  AskedPrompt of_chat(const jinja::Value& messages, const std::string& place,
                      const jinja::Value& tools = jinja::Value::none());
  TurnEnd find_turn_end(const jinja::Value& messages) const;

  DocumentOptions options_;
  const Tokenizer& tokenizer_;
  DocumentEncoder encoder_;
  TurnEnd turn_end_;
  bool has_turn_end_ = false;  // it was looked for
};

}  // namespace s2s::data
