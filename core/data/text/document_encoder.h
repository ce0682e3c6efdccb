#pragma once
// Encodes documents as token ids and labels.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/kinds/tokenizer.h"
#include "text/chat_format.h"
#include "text/text_line.h"
#include "text/text_options.h"

namespace s2s::data {

/// The file and number of a line.
struct LineOrigin {
  std::string file;
  int64_t line = 0;  // from 1

  std::string text() const { return file + ":" + std::to_string(line); }
};

struct TokenDocument {
  std::vector<int64_t> ids;
  std::vector<bool> is_label;  // for each token, whether the model learns to predict it

  int64_t size() const { return static_cast<int64_t>(ids.size()); }
};

/// Const functions are thread-safe once a chat has been encoded.
class DocumentEncoder {
 public:
  /// `path` names the options in messages. The tokenizer must outlive the encoder.
  /// Errors: [tokenizer/special-ids] without EOS.
  DocumentEncoder(const DocumentOptions& options, const Tokenizer& tokenizer,
                  const std::string& path, const std::string& base_dir);

  /// Returns one BOS, the tokens and one EOS. A BOS or EOS at the ends of the text is not repeated.
  /// There is no BOS if the tokenizer has none (as in transformers).
  /// Errors: those of parse_text_line, [data/chat-template], [data/text-tokens].
  TokenDocument encode(const std::string& line, const LineOrigin& origin) const;
  /// Returns [BOS] and the tokens of a text that a model is asked to continue. With `is_chat` the
  /// text is from a template: control tokens in it are found, and its BOS is not repeated.
  std::vector<int64_t> encode_prompt(const std::string& text, bool is_chat) const;
  /// Returns the chat template, which is read when it is first used. Errors: [data/chat-template].
  const ChatFormat& chat_format() const;
  /// Returns the texts of a line that a model could learn: the text, prompt and response, or what
  /// the assistant says.
  /// Errors: those of parse_text_line.
  std::string text_of(const std::string& line, const LineOrigin& origin) const;
  const SpecialIds& special_ids() const { return special_; }

 private:
  struct Encoded;
  std::vector<int64_t> frame_ids() const;  // BOS (if there is one) and EOS
  Encoded encode_text(const jinja::MarkedText& text, bool is_chat) const;
  std::vector<int64_t> encode_with_special(const std::string& text) const;
  TokenDocument framed(Encoded& encoded, bool is_chat) const;
  void label(const Encoded& encoded, const TextLine& line, TokenDocument& document) const;
  bool is_special_token(const Encoded& encoded, size_t index) const;

  DocumentOptions options_;
  const Tokenizer& tokenizer_;
  std::string path_, base_dir_;
  SpecialIds special_;
  bool splits_special_ = false;  // the tokenizer does not find BOS and EOS in texts
  mutable std::optional<ChatFormat> chat_format_;  // set by the first chat
};

}  // namespace s2s::data
