#include "bpe.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "byte_alphabet.h"
#include "unicode.h"

namespace s2s::hf {
namespace {

constexpr std::string_view kWordMark = "\xE2\x96\x81";  // U+2581, SentencePiece's mark for a space
// Up to this number of symbols, scanning all pairs is faster than a queue.
constexpr size_t kShortWord = 32;

constexpr size_t kNumSlots = size_t{1} << 15;
constexpr size_t kMaxWords = kNumSlots / 2;
constexpr size_t kMaxTextBytes = size_t{2} << 20;

uint64_t key_of(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

std::string characters_of(std::string_view bytes, Alphabet alphabet) {
  return alphabet == Alphabet::kBytes ? to_byte_characters(bytes) : std::string(bytes);
}

}  // namespace

void MergeTable::reserve(size_t num_merges) {
  size_t num_slots = 16;
  shift_ = 60;
  while (num_slots < num_merges * 2) {
    num_slots *= 2;
    --shift_;
  }
  slots_.assign(num_slots, Slot{});
}

size_t MergeTable::slot_of(uint64_t key) const {
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  size_t at = ((key ^ (key >> 29)) * kGoldenRatio) >> shift_;
  while (slots_[at].key != key && slots_[at].key != UINT64_MAX) at = (at + 1) & (slots_.size() - 1);
  return at;
}

void MergeTable::add(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = key_of(left, right);
  slots_[slot_of(key)] = {key, merge};
}

MergeTable::Merge MergeTable::find(int32_t left, int32_t right) const {
  return slots_[slot_of(key_of(left, right))].merge;
}

WordCache::WordCache() : slots_(kNumSlots) {}

size_t WordCache::find(std::string_view word, uint64_t hash) const {
  size_t at = hash & (kNumSlots - 1);
  for (;; at = (at + 1) & (kNumSlots - 1)) {
    const Slot& slot = slots_[at];
    if (slot.word_bytes == 0) return at;
    if (slot.hash == hash && slot.word_bytes == word.size() &&
        std::memcmp(texts_.data() + slot.text, word.data(), word.size()) == 0) {
      return at;
    }
  }
}

bool WordCache::append(std::string_view word, std::vector<int64_t>& ids) {
  const Slot& slot = slots_[find(word, std::hash<std::string_view>{}(word))];
  if (slot.word_bytes == 0) return false;
  const int32_t* first = ids_.data() + slot.ids;
  for (uint32_t i = 0; i < slot.num_ids; ++i) ids.push_back(first[i]);
  return true;
}

void WordCache::put(std::string_view word, const std::vector<int64_t>& ids, size_t from) {
  if (used_ >= kMaxWords || texts_.size() >= kMaxTextBytes) clear();
  const uint64_t hash = std::hash<std::string_view>{}(word);
  Slot& slot = slots_[find(word, hash)];
  slot = {hash, static_cast<uint32_t>(texts_.size()), static_cast<uint32_t>(ids_.size()),
          static_cast<uint32_t>(word.size()), static_cast<uint32_t>(ids.size() - from)};
  texts_ += word;
  for (size_t i = from; i < ids.size(); ++i) ids_.push_back(static_cast<int32_t>(ids[i]));
  ++used_;
}

void WordCache::clear() {
  slots_.assign(kNumSlots, Slot{});
  texts_.clear();
  ids_.clear();
  used_ = 0;
}

int32_t Bpe::symbol_of(char32_t code) const {
  return code < symbol_ids_.size() ? symbol_ids_[code] : -1;
}

const std::string* Bpe::piece(int32_t id) const {
  if (id < 0 || id >= num_ids()) return nullptr;
  const auto& piece = pieces_[static_cast<size_t>(id)];
  return piece ? &*piece : nullptr;
}

std::optional<int32_t> Bpe::find(std::string_view piece) const {
  const auto found = ids_.find(piece);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::optional<int32_t> Bpe::unknown() const {
  if (unknown_id_ < 0) return std::nullopt;
  return unknown_id_;
}

void Bpe::encode(std::string_view piece, BpeWorkspace& work, std::vector<int64_t>& ids) const {
  if (alphabet_ == Alphabet::kCharacters && ignore_merges_ &&
      piece.size() <= longest_piece_bytes_) {
    if (const auto whole = find(piece)) {
      ids.push_back(*whole);
      return;
    }
  }
  for (size_t begin = 0; begin < piece.size();) {
    const size_t end = cuts_words_ ? word_end(piece, begin) : piece.size();
    encode_word(piece.substr(begin, end - begin), work, ids);
    begin = end;
  }
}

/// Position of the next word mark that no merge joins with the character before it.
size_t Bpe::word_end(std::string_view piece, size_t begin) const {
  for (size_t at = begin + 1;; at += kWordMark.size()) {
    at = piece.find(kWordMark, at);
    if (at == piece.npos) return piece.size();
    const char32_t before = code_point_before(piece, at).value;
    const bool joined = before < joins_mark_.size() && joins_mark_[before];
    if (before != kWordMarkCode && !joined) return at;
  }
}

void Bpe::encode_word(std::string_view word, BpeWorkspace& work, std::vector<int64_t>& ids) const {
  const bool kept = word.size() <= WordCache::kMaxWordBytes;
  if (kept && work.cache.append(word, ids)) return;
  const size_t from = ids.size();
  const auto whole = alphabet_ == Alphabet::kBytes && word.size() <= longest_piece_bytes_
                         ? whole_pieces_.find(std::string(word))
                         : whole_pieces_.end();
  if (whole != whole_pieces_.end()) {
    ids.push_back(whole->second);
  } else {
    read_symbols(word, work.symbols);
    if (work.symbols.size() <= kShortWord) {
      merge_short(work);
    } else {
      merge_long(work);
    }
    ids.insert(ids.end(), work.symbols.begin(), work.symbols.end());
  }
  if (kept) work.cache.put(word, ids, from);
}

/// A character without a symbol becomes its bytes (byte_fallback), else the unknown id. The unknown
/// id is added only at the next character that has a symbol, so that fuse_unk can join several.
/// Source: the tokenizers package.
void Bpe::read_symbols(std::string_view word, std::vector<int32_t>& symbols) const {
  symbols.clear();
  bool pending = false;
  for (size_t i = 0; i < word.size();) {
    CodePoint c{static_cast<uint8_t>(word[i]), 1};
    if (alphabet_ == Alphabet::kCharacters) c = code_point_at(word, i);
    const int32_t id = symbol_of(c.value);
    if (id >= 0) {
      if (pending) symbols.push_back(unknown_id_);
      pending = false;
      symbols.push_back(id);
    } else {
      add_unknown(characters_of(word.substr(i, c.size), alphabet_), symbols, pending);
    }
    i += c.size;
  }
  if (pending) symbols.push_back(unknown_id_);
}

void Bpe::add_unknown(std::string_view character, std::vector<int32_t>& symbols,
                      bool& pending) const {
  const auto byte_id = [this](char c) { return byte_ids_[static_cast<uint8_t>(c)]; };
  if (byte_fallback_ &&
      std::all_of(character.begin(), character.end(), [&](char c) { return byte_id(c) >= 0; })) {
    for (const char c : character) symbols.push_back(byte_id(c));
    return;
  }
  if (unknown_id_ < 0) return;
  if (pending && !fuse_unknown_) symbols.push_back(unknown_id_);
  pending = true;
}

/// Merges the pair with the lowest rank, the leftmost of equal ones, until no pair can be merged.
void Bpe::merge_short(BpeWorkspace& work) const {
  std::vector<int32_t>& symbols = work.symbols;
  auto& merges = work.merges;
  merges.clear();
  for (size_t i = 0; i + 1 < symbols.size(); ++i) {
    merges.push_back(merges_.find(symbols[i], symbols[i + 1]));
  }
  while (!merges.empty()) {
    const auto best = std::min_element(
        merges.begin(), merges.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
    if (best->rank == UINT32_MAX) return;
    const auto at = static_cast<size_t>(best - merges.begin());
    symbols[at] = best->result;
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(at) + 1);
    merges.erase(best);
    if (at < merges.size()) merges[at] = merges_.find(symbols[at], symbols[at + 1]);
    if (at > 0) merges[at - 1] = merges_.find(symbols[at - 1], symbols[at]);
  }
}

void Bpe::push_merge(BpeWorkspace& work, int32_t left, int32_t right) const {
  const auto& symbols = work.symbols;
  const MergeTable::Merge merge =
      merges_.find(symbols[static_cast<size_t>(left)], symbols[static_cast<size_t>(right)]);
  if (merge.rank == UINT32_MAX) return;
  work.queue.push_back((static_cast<uint64_t>(merge.rank) << 32) | static_cast<uint32_t>(left));
  std::push_heap(work.queue.begin(), work.queue.end(), std::greater<>());
}

/// The same with a priority queue of (rank, position), O(n log n). Entries whose pair no longer
/// exists are skipped.
void Bpe::merge_long(BpeWorkspace& work) const {
  std::vector<int32_t>& symbols = work.symbols;
  const auto count = static_cast<int32_t>(symbols.size());
  work.previous.resize(symbols.size());
  work.next.resize(symbols.size());
  work.queue.clear();
  for (int32_t i = 0; i < count; ++i) {
    work.previous[static_cast<size_t>(i)] = i - 1;
    work.next[static_cast<size_t>(i)] = i + 1 < count ? i + 1 : -1;
    if (i + 1 < count) push_merge(work, i, i + 1);
  }
  while (!work.queue.empty()) {
    const uint64_t entry = work.queue.front();
    std::pop_heap(work.queue.begin(), work.queue.end(), std::greater<>());
    work.queue.pop_back();
    const auto left = static_cast<size_t>(entry & UINT32_MAX);
    if (symbols[left] < 0 || work.next[left] < 0) continue;
    const auto right = static_cast<size_t>(work.next[left]);
    const int32_t result = result_of_rank_[entry >> 32];
    if (merges_.find(symbols[left], symbols[right]).result != result) continue;
    symbols[left] = result;
    symbols[right] = -1;
    const int32_t after = work.next[right];
    work.next[left] = after;
    if (after >= 0) {
      work.previous[static_cast<size_t>(after)] = static_cast<int32_t>(left);
      push_merge(work, static_cast<int32_t>(left), after);
    }
    if (work.previous[left] >= 0) push_merge(work, work.previous[left], static_cast<int32_t>(left));
  }
  symbols.erase(std::remove(symbols.begin(), symbols.end(), -1), symbols.end());
}

}  // namespace s2s::hf
