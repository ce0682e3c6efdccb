#include "transformers_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace s2s::sentencepiece_plugin {
namespace {

/// UTF-8 of a code point from U+10000: four bytes.
std::string utf8(uint32_t code) {
  std::string text;
  for (const unsigned shift : {18U, 12U, 6U, 0U}) {
    const uint32_t lead = shift == 18 ? 0xF0U : 0x80U;
    text += static_cast<char>(lead | ((code >> shift) & (shift == 18 ? 7U : 0x3FU)));
  }
  return text;
}

bool is_ascii_mark(const std::string& character) {
  return character.size() == 1 && std::ispunct(static_cast<unsigned char>(character[0])) != 0;
}

std::set<std::string> known_characters(const ModelProto& model) {
  std::set<std::string> known;
  for (const Piece& piece : model.pieces) {
    if (piece.type != PieceType::kNormal) continue;
    for (std::string& character : characters(piece.text)) known.insert(std::move(character));
  }
  return known;
}

/// The character of a piece to escape: a punctuation mark if there is one.
std::string character_to_escape(const std::string& piece) {
  const std::vector<std::string> all = characters(piece);
  const auto mark = std::find_if(all.begin(), all.end(), is_ascii_mark);
  if (mark != all.end()) return *mark;
  const auto other = std::find_if(all.begin(), all.end(),
                                  [](const std::string& one) { return one != kSpaceMark; });
  return other == all.end() ? all.front() : *other;
}

std::map<std::string, std::string> choose_escapes(const ModelProto& model, FreeCharacters& free) {
  std::map<std::string, std::string> escapes;
  const bool is_word = model.model_type == ModelType::kWord;
  for (const Piece& piece : model.pieces) {
    const bool is_found = piece.type == PieceType::kNormal || piece.type == PieceType::kUnused;
    // Added tokens match user-defined symbols first. A word model has no such step.
    if (is_found || (piece.type == PieceType::kUserDefined && !is_word)) continue;
    const std::vector<std::string> all = characters(piece.text);
    const bool is_escaped = std::any_of(
        all.begin(), all.end(), [&](const std::string& one) { return escapes.contains(one); });
    if (is_escaped) continue;
    escapes.emplace(character_to_escape(piece.text), free.take());
  }
  return escapes;
}

/// Byte fallback would emit the bytes of an escape's private character. The byte piece therefore
/// takes the name of the private character if the escaped character has no piece. BPE merges need
/// such a name, too.
void name_byte_pieces(const ModelProto& model, PieceNames& pieces) {
  const bool is_bpe = model.model_type == ModelType::kBpe;
  const std::set<std::string> known = known_characters(model);
  std::set<std::string> own;
  for (const Piece& piece : model.pieces) {
    if (piece.type == PieceType::kNormal) own.insert(piece.text);
  }
  std::map<std::string, std::string> name_of_byte;
  for (unsigned char byte = 0; byte < 0x80; ++byte) {
    const std::string character(1, static_cast<char>(byte));
    if (own.contains(character)) continue;
    const auto escape = pieces.escapes.find(character);
    if (escape != pieces.escapes.end()) {
      name_of_byte[fmt::format("<0x{:02X}>", byte)] = escape->second;
    } else if (is_bpe && known.contains(character)) {
      name_of_byte[fmt::format("<0x{:02X}>", byte)] = character;
    }
  }
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const auto name = name_of_byte.find(model.pieces[id].text);
    const bool is_byte = model.pieces[id].type == PieceType::kByte;
    if (is_byte && name != name_of_byte.end()) pieces.names[id] = name->second;
  }
}

}  // namespace

FreeCharacters::FreeCharacters(const ModelProto& model) {
  for (const Piece& piece : model.pieces) {
    for (std::string& character : characters(piece.text)) {
      if (character >= utf8(next_)) taken_.insert(std::move(character));
    }
  }
}

std::string FreeCharacters::take() {
  std::string character = utf8(next_++);
  while (taken_.contains(character)) character = utf8(next_++);
  return character;
}

std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> result;
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const size_t size = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    result.emplace_back(text.substr(at, size));
    at += size;
  }
  return result;
}

std::string escaped(const std::string& text, const std::map<std::string, std::string>& escapes) {
  std::string result;
  for (const std::string& character : characters(text)) {
    const auto found = escapes.find(character);
    result += found == escapes.end() ? character : found->second;
  }
  return result;
}

PieceNames name_pieces(const ModelProto& model, FreeCharacters& free) {
  PieceNames pieces;
  const bool is_word = model.model_type == ModelType::kWord;
  const bool is_unigram = model.model_type == ModelType::kUnigram || is_word;
  if (is_unigram) pieces.escapes = choose_escapes(model, free);
  for (const Piece& piece : model.pieces) {
    const bool is_unused = piece.type == PieceType::kUnused && !is_word;
    if (is_unused && pieces.unused_mark.empty()) pieces.unused_mark = free.take();
    const bool is_found = piece.type == PieceType::kNormal || piece.type == PieceType::kUnused;
    std::string name = is_unigram && is_found ? escaped(piece.text, pieces.escapes) : piece.text;
    if (is_unused) name = pieces.unused_mark + name;
    // Pieces of a word model are whole words. Each ends with a space, like the words of the
    // normalized text.
    pieces.names.push_back(is_word && is_found ? name + " " : name);
  }
  if (model.byte_fallback) name_byte_pieces(model, pieces);
  return pieces;
}

}  // namespace s2s::sentencepiece_plugin
