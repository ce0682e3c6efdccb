#pragma once
// The vocabulary of a SentencePiece model for the `tokenizers` package.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model_proto.h"

namespace s2s::sentencepiece_plugin {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

/// Characters of the private use area (from U+10FF00) that no piece contains.
class FreeCharacters {
 public:
  explicit FreeCharacters(const ModelProto& model);
  std::string take();

 private:
  std::set<std::string> taken_;
  uint32_t next_ = 0x10FF00;
};

/// Names of the pieces in tokenizer.json. The package's Unigram finds every name of its vocabulary
/// in a text; SentencePiece finds only normal pieces, so the text "<s>" is not BOS. One character
/// of each other piece is therefore escaped: texts and normal pieces get a private character
/// instead of it.
struct PieceNames {
  std::vector<std::string> names;              // by id
  std::map<std::string, std::string> escapes;  // character -> private character
  std::string unused_mark;  // prefix of the names of unused pieces; "": there are none
};

/// Splits UTF-8 text into characters. A byte that starts no character counts as one.
std::vector<std::string> characters(std::string_view text);

std::string escaped(const std::string& text, const std::map<std::string, std::string>& escapes);

PieceNames name_pieces(const ModelProto& model, FreeCharacters& free);

}  // namespace s2s::sentencepiece_plugin
