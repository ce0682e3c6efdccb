#pragma once
// Byte-pair encoding of one piece: the member `model` of tokenizer.json.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json_place.h"

namespace s2s::hf_plugin {

/// U+2581, a space to SentencePiece.
constexpr char32_t kWordMarkCode = 0x2581;

/// What the pieces are made of.
enum class Alphabet {
  kCharacters,
  kBytes,  // each byte stands for its character of the byte-level alphabet
};

/// Maps two neighbors to the merge that joins them. Open addressing; the key holds both ids.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank = UINT32_MAX;  // none
    int32_t result = -1;
  };
  void reserve(size_t num_merges);
  /// A later rank of the same pair wins.
  void add(int32_t left, int32_t right, Merge merge);
  Merge find(int32_t left, int32_t right) const;

 private:
  struct Slot {
    uint64_t key = UINT64_MAX;
    Merge merge;
  };
  size_t slot_of(uint64_t key) const;
  std::vector<Slot> slots_;
  int shift_ = 64;
};

/// A bounded map from short words to ids. It clears itself when it is full. Not thread-safe.
class WordCache {
 public:
  static constexpr size_t kMaxWordBytes = 256;

  WordCache();
  /// Appends the ids of `word` and returns true, or returns false.
  bool append(std::string_view word, std::vector<int64_t>& ids);
  /// Keeps ids[from..] for the word that the last `append` did not find.
  void put(std::string_view word, const std::vector<int64_t>& ids, size_t from);

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t text = 0;        // where the word begins in texts_
    uint32_t ids = 0;         // where its ids begin in ids_
    uint32_t word_bytes = 0;  // 0: free
    uint32_t num_ids = 0;
  };
  size_t find(std::string_view word, uint64_t hash) const;
  void clear();

  std::vector<Slot> slots_;
  size_t used_ = 0;
  std::string texts_;
  std::vector<int32_t> ids_;
};

/// The state of one thread that encodes.
struct BpeWorkspace {
  WordCache cache;
  std::vector<int32_t> symbols;
  std::vector<MergeTable::Merge> merges;  // of a symbol and the next
  std::vector<int32_t> previous;
  std::vector<int32_t> next;
  std::vector<uint64_t> queue;
};

class Bpe {
 public:
  /// Errors: [tokenizer/definition], [tokenizer/unsupported].
  Bpe(const JsonPlace& place, Alphabet alphabet);

  /// Appends the ids of a piece (not empty).
  void encode(std::string_view piece, BpeWorkspace& work, std::vector<int64_t>& ids) const;

  /// One more than the largest id.
  int32_t num_ids() const { return static_cast<int32_t>(pieces_.size()); }
  /// Number of pieces, ids without one not counted.
  size_t num_pieces() const { return ids_.size(); }
  /// The piece as the file writes it; null: the id has none.
  const std::string* piece(int32_t id) const;
  std::optional<int32_t> find(std::string_view piece) const;
  /// The id for what the vocabulary cannot spell. Empty: such text is left out.
  std::optional<int32_t> unknown() const;

 private:
  void read_settings(const JsonPlace& place);
  void read_vocab(const JsonPlace& place);
  void read_merges(const JsonPlace& place);
  /// Returns false when one of the three pieces does not exist.
  bool add_merge(std::string_view left, std::string_view right);
  void note_join(std::string_view left, std::string_view right);
  void index_symbols();
  void index_whole_pieces();
  int32_t symbol_of(char32_t code) const;

  void encode_word(std::string_view word, BpeWorkspace& work, std::vector<int64_t>& ids) const;
  void read_symbols(std::string_view word, std::vector<int32_t>& symbols) const;
  void add_unknown(std::string_view character, std::vector<int32_t>& symbols, bool& pending) const;
  void merge_short(BpeWorkspace& work) const;
  void merge_long(BpeWorkspace& work) const;
  void push_merge(BpeWorkspace& work, int32_t left, int32_t right) const;
  size_t word_end(std::string_view piece, size_t begin) const;

  Alphabet alphabet_;
  std::vector<std::optional<std::string>> pieces_;  // by id
  std::unordered_map<std::string_view, int32_t> ids_;
  MergeTable merges_;
  std::vector<int32_t> result_of_rank_;
  int32_t unknown_id_ = -1;
  bool fuse_unknown_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
  std::vector<int32_t> symbol_ids_;  // by code point or byte; -1: none
  std::vector<int32_t> byte_ids_;    // of <0x00> and on; -1: none
  // Whole pieces, as encode gets them, for ignore_merges.
  std::unordered_map<std::string, int32_t> whole_pieces_;
  size_t longest_piece_bytes_ = 0;
  // When no merge reaches over a word mark, a piece is cut before it.
  bool cuts_words_ = false;
  std::vector<bool> joins_mark_;  // by code point: a merge joins it with a word mark behind it
};

}  // namespace s2s::hf_plugin
