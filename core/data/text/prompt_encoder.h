#pragma once
// Encodes what a model is asked to continue: texts, and chats up to the assistant's turn.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/kinds/tokenizer.h"
#include "text/document_encoder.h"

namespace s2s::data {

struct AskedPrompt {
  std::string text;          // the model's input, without a BOS that the encoder adds
  std::string asked;         // for display: the text, or a chat's last message
  std::vector<int64_t> ids;  // with BOS
};

/// What a chat template writes after the assistant's content.
struct TurnEnd {
  std::vector<int64_t> tokens;     // a control token, or nothing
  std::vector<std::string> texts;  // a text, if it is not a control token
};

class PromptEncoder {
 public:
  /// Takes the arguments of DocumentEncoder. The options `format` and `labels` are not read.
  /// Errors: [tokenizer/special-ids] without EOS.
  PromptEncoder(const DocumentOptions& options, const Tokenizer& tokenizer, const std::string& path,
                const std::string& base_dir);

  /// Encodes a text to continue; `place` is its place in messages.
  /// Errors: [data/prompt] for a text without tokens.
  AskedPrompt of_text(const std::string& text, const std::string& place) const;
  /// Encodes a chat with one message of the user. Errors: [data/chat-template].
  AskedPrompt of_message(const std::string& message, const std::string& place);
  /// Encodes a line of a JSONL file. Errors: those of parse_prompt_line, [data/chat-template].
  AskedPrompt of_line(const std::string& json, const LineOrigin& origin);
  /// The end of a turn in the template. Empty before the first chat, and if the template does not
  /// show it.
  const TurnEnd& turn_end() const { return turn_end_; }

 private:
  AskedPrompt of_chat(const jinja::Value& messages, const std::string& place,
                      const jinja::Value& tools = jinja::Value::none());
  TurnEnd find_turn_end(const jinja::Value& messages) const;

  DocumentOptions options_;
  const Tokenizer& tokenizer_;
  DocumentEncoder encoder_;
  TurnEnd turn_end_;
  bool has_turn_end_ = false;  // `turn_end_` has been looked for
};

}  // namespace s2s::data
