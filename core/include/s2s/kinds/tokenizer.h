#pragma once
// Tokenizer: encodes text to ids and decodes ids. Kind `tokenizer`.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// The special ids of the text channel. All three are distinct.
struct SpecialIds {
  int64_t bos = -1;
  int64_t eos = -1;
  int64_t pad = -1;  // fills the frames of the text channel without text
};

/// Const functions are thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer();
  /// UTF-8 text -> ids, without special tokens.
  virtual std::vector<int64_t> encode(std::string_view text) const = 0;
  /// Special ids are skipped.
  virtual std::string decode(const std::vector<int64_t>& ids) const = 0;
  virtual int64_t vocab_size() const = 0;
  virtual const SpecialIds& special_ids() const = 0;
  /// The special ids that the tokenizer has; -1: it has none. They may be equal: documents of text
  /// need less than the text channel. Default: special_ids().
  virtual SpecialIds known_special_ids() const { return special_ids(); }
  /// The id of text that the tokenizer does not know; -1: it writes every text. Words that become
  /// this id are counted and reported. Default: -1.
  virtual int64_t unknown_id() const { return -1; }
  /// Printable form of one id ("_hello", "<s>").
  virtual std::string piece(int64_t id) const = 0;
  /// The files that define the tokenizer. Checkpoints contain copies; when they are loaded, the
  /// option `path` is the folder of the copies. Default: none.
  virtual std::vector<std::string> files() const { return {}; }
  /// Additional files (name -> content) that a folder with copies of `files()` needs, so that
  /// transformers' AutoTokenizer gives the same ids and texts. Default: none; the copies are
  /// enough, or it is unknown.
  /// Errors: the plugin's, when transformers cannot express this tokenizer.
  virtual std::map<std::string, std::string> transformers_files() const { return {}; }
};

/// Refuses a text of more than 16 MiB: encoding takes 50 times the memory of the text. Call it
/// first in `encode`. Errors: [tokenizer/long-text].
void require_short_text(std::string_view text);

}  // namespace s2s
