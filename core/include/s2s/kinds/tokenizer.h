#pragma once
// Tokenizer: text to ids and back. Kind `tokenizer`.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// Ids with a meaning for the text channel. All three are distinct.
struct SpecialIds {
  int64_t bos = -1;
  int64_t eos = -1;
  int64_t pad = -1;  // the text channel's silence
};

/// Const functions are safe to call from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer();
  /// UTF-8 text -> ids, without special tokens.
  virtual std::vector<int64_t> encode(std::string_view text) const = 0;
  /// Special ids are skipped.
  virtual std::string decode(const std::vector<int64_t>& ids) const = 0;
  virtual int64_t vocab_size() const = 0;
  virtual const SpecialIds& special_ids() const = 0;
  /// Printable form of one id ("_hello", "<s>").
  virtual std::string piece(int64_t id) const = 0;
  /// The files that define it. Checkpoints keep copies, and hand their folder back as the option
  /// `path`. Empty: it needs none.
  virtual std::vector<std::string> files() const { return {}; }
  /// File name -> content: what a folder needs beside copies of `files()` for transformers'
  /// AutoTokenizer to give the same ids and texts. Empty: the copies are enough, or nobody knows.
  /// Errors: the plugin's, when transformers cannot express this tokenizer.
  virtual std::map<std::string, std::string> transformers_files() const { return {}; }
};

}  // namespace s2s
