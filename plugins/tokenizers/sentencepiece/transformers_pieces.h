#pragma once
// A SentencePiece vocabulary as the `tokenizers` package takes it.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model_proto.h"

namespace s2s::sentencepiece_plugin {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

/// Characters of the private use area (U+10FF00 and up) that no piece contains.
class FreeCharacters {
 public:
  explicit FreeCharacters(const ModelProto& model);
  std::string take();

 private:
  std::set<std::string> taken_;
  uint32_t next_ = 0x10FF00;
};

/// The names that pieces have in tokenizer.json. The package's Unigram finds every name of its
/// vocabulary in a text, SentencePiece only normal pieces: a text "<s>" is no BOS. One character of
/// each other piece is escaped: texts and normal pieces have a private character in its place.
struct PieceNames {
  std::vector<std::string> names;              // by id
  std::map<std::string, std::string> escapes;  // character -> its private one
  std::string unused_mark;  // begins the names of unused pieces; "": there are none
};

/// The characters of UTF-8 text; a byte that begins none is one of its own.
std::vector<std::string> characters(std::string_view text);

std::string escaped(const std::string& text, const std::map<std::string, std::string>& escapes);

PieceNames name_pieces(const ModelProto& model, FreeCharacters& free);

}  // namespace s2s::sentencepiece_plugin
