// Reads the member `model` of tokenizer.json.

#include <algorithm>
#include <cstdio>

#include "bpe.h"
#include "byte_alphabet.h"
#include "unicode.h"

namespace s2s::hf {
namespace {

constexpr int64_t kMaxId = int64_t{1} << 22;

/// The tables have one entry for each id up to the largest, so a file with few pieces and a very
/// large id is refused.
int64_t max_id(size_t num_pieces) {
  return std::min(4 * static_cast<int64_t>(num_pieces) + 4096, kMaxId) - 1;
}

std::string byte_piece(unsigned byte) {
  char text[8];
  std::snprintf(text, sizeof(text), "<0x%02X>", byte);
  return text;
}

bool is_byte_piece(std::string_view piece) {
  return piece.size() == 6 && piece.substr(0, 3) == "<0x" && piece.back() == '>';
}

void expect_empty(const JsonLocation& location) {
  if (!location.is_null() && !location.text().empty()) location.refuse("none");
}

/// Both halves of "a b" or ["a", "b"]. Returns false for other values.
bool split_merge(const nlohmann::json& merge, std::string& left, std::string& right) {
  if (merge.is_array()) {
    if (merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) return false;
    left = merge[0].get<std::string>();
    right = merge[1].get<std::string>();
    return !left.empty() && !right.empty();
  }
  if (!merge.is_string()) return false;
  const auto& text = merge.get_ref<const std::string&>();
  const size_t space = text.find(' ');
  if (space == text.npos || text.find(' ', space + 1) != text.npos) return false;
  left = text.substr(0, space);
  right = text.substr(space + 1);
  return !left.empty() && !right.empty();
}

}  // namespace

Bpe::Bpe(const JsonLocation& location, Alphabet alphabet) : alphabet_(alphabet) {
  if (location.is_null()) location.damaged("an object");
  read_settings(location);
  read_vocab(location["vocab"]);
  const JsonLocation unknown = location["unk_token"];
  if (!unknown.is_null()) {
    const auto id = find(unknown.text());
    if (!id) unknown.damaged("a piece of the vocabulary");
    unknown_id_ = *id;
  }
  index_symbols();
  cuts_words_ = alphabet_ == Alphabet::kCharacters && symbol_of(kWordMarkCode) >= 0;
  read_merges(location["merges"]);
  index_whole_pieces();
}

void Bpe::read_settings(const JsonLocation& location) {
  if (!location["type"].is_null() && location.type() != "BPE") location.refuse_type("BPE");
  location.expect_only({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                        "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  const JsonLocation dropout = location["dropout"];
  if (!dropout.is_null() && dropout.value() != 0) dropout.refuse("none: ids must not be random");
  expect_empty(location["continuing_subword_prefix"]);
  expect_empty(location["end_of_word_suffix"]);
  fuse_unknown_ = location["fuse_unk"].flag(false);
  byte_fallback_ = location["byte_fallback"].flag(false);
  ignore_merges_ = location["ignore_merges"].flag(false);
}

void Bpe::read_vocab(const JsonLocation& location) {
  if (!location.value().is_object() || location.value().empty())
    location.damaged("pieces with their ids");
  const auto bad = [&](const std::string& piece, const nlohmann::json& id,
                       const std::string& expected) {
    JsonLocation(id, location.where() + ": '" + valid_utf8(piece.substr(0, 80)) + "'")
        .damaged(expected);
  };
  const int64_t max = max_id(location.size());
  int64_t last = 0;
  for (const auto& [piece, id] : location.value().items()) {
    const bool fits = id.is_number_integer() && id >= 0 && id <= max;
    if (!fits) bad(piece, id, "an id from 0 to " + std::to_string(max));
    last = std::max(last, id.get<int64_t>());
  }
  pieces_.resize(static_cast<size_t>(last) + 1);
  ids_.reserve(location.size());
  for (const auto& [piece, id] : location.value().items()) {
    auto& kept = pieces_[id.get<size_t>()];
    if (kept) bad(piece, id, "an id that no other piece has");
    kept = piece;
    ids_.emplace(*kept, id.get<int32_t>());
    longest_piece_bytes_ = std::max(longest_piece_bytes_, piece.size());
  }
}

void Bpe::index_symbols() {
  for (unsigned byte = 0; byte < 256; ++byte) {
    byte_ids_.push_back(find(byte_piece(byte)).value_or(-1));
  }
  if (alphabet_ == Alphabet::kBytes) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::string character;
      append_utf8(byte_character(static_cast<uint8_t>(byte)), character);
      symbol_ids_.push_back(find(character).value_or(-1));
    }
    return;
  }
  for (const auto& [piece, id] : ids_) {
    if (piece.empty()) continue;
    const CodePoint c = code_point_at(piece, 0);
    if (c.size != piece.size()) continue;
    if (c.value >= symbol_ids_.size()) symbol_ids_.resize(c.value + 1, -1);
    symbol_ids_[c.value] = id;
  }
}

void Bpe::read_merges(const JsonLocation& location) {
  location.expect_list();
  merges_.reserve(location.size());
  std::string left;
  std::string right;
  for (size_t i = 0; i < location.size(); ++i) {
    const nlohmann::json& merge = location.value()[i];
    const bool comment =
        merge.is_string() && merge.get_ref<const std::string&>().rfind("#version", 0) == 0;
    if (comment) continue;
    if (!split_merge(merge, left, right)) location.item(i).damaged("two pieces");
    if (!add_merge(left, right)) {
      const nlohmann::json shown = left + " " + right;
      JsonLocation(shown, location.item(i).where())
          .damaged("two pieces of the vocabulary whose concatenation is in the vocabulary, too");
    }
  }
}

bool Bpe::add_merge(std::string_view left, std::string_view right) {
  const auto left_id = find(left);
  const auto right_id = find(right);
  const auto result = find(std::string(left) + std::string(right));
  if (!left_id || !right_id || !result) return false;
  const auto rank = static_cast<uint32_t>(result_of_rank_.size());
  merges_.add(*left_id, *right_id, {rank, *result});
  result_of_rank_.push_back(*result);
  note_join(left, right);
  return true;
}

void Bpe::note_join(std::string_view left, std::string_view right) {
  if (!cuts_words_ || code_point_at(right, 0).value != kWordMarkCode) return;
  if (is_byte_piece(left) || find(left) == unknown()) cuts_words_ = false;
  const char32_t before = code_point_before(left, left.size()).value;
  if (before >= joins_mark_.size()) joins_mark_.resize(before + 1);
  joins_mark_[before] = true;
}

void Bpe::index_whole_pieces() {
  if (!ignore_merges_ || alphabet_ != Alphabet::kBytes) return;
  for (const auto& [piece, id] : ids_) {
    if (auto bytes = from_byte_characters(piece)) whole_pieces_.emplace(std::move(*bytes), id);
  }
}

}  // namespace s2s::hf
