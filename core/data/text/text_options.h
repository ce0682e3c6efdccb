#pragma once
// Options of a text data set.

#include <cstdint>
#include <optional>
#include <string>

#include "s2s/config.h"
#include "s2s/options.h"

namespace s2s::data {

/// How a line becomes a document.
struct DocumentOptions {
  std::string format = "auto";
  std::string text_key = "text";
  std::string prompt_key = "prompt";
  std::string response_key = "response";
  std::string messages_key = "messages";
  std::string chat_template = "tokenizer";
  std::string labels = "all";

  void visit(OptionVisitor& v);
};

struct TextSourceOptions {
  Config path;
  DocumentOptions document;
  int64_t max_seq_len = 2048;
  std::string long_text = "cut";
  std::string packing = "none";
  int64_t batch_size = 4;
  bool shuffle = false;
  std::optional<int64_t> seed;
  bool repeat = true;
  int64_t skip_bad = 0;
  bool allow_changed_data = false;

  void visit(OptionVisitor& v);
};

}  // namespace s2s::data
