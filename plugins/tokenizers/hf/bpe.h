#pragma once
// Byte-pair encoding (BPE) of one piece: the member `model` of tokenizer.json.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json_location.h"

namespace s2s::hf {

/// SentencePiece's mark for a space.
constexpr char32_t kWordMarkCode = 0x2581;

/// The symbols that pieces consist of.
enum class Alphabet {
  kCharacters,
  kBytes,  // one character of the byte-level alphabet per byte
};

/// Maps two adjacent ids to the merge that joins them. Open addressing; the key contains both ids.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank = UINT32_MAX;  // none
    int32_t result = -1;
  };
  void reserve(size_t num_merges);
  /// If a pair is added twice, the later rank is used.
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

/// A cache from short words to ids. It is cleared when it is full. Not thread-safe.
class WordCache {
 public:
  static constexpr size_t kMaxWordBytes = 256;

  WordCache();
  /// Appends the ids of `word` and returns true. Returns false if the word is not in the cache.
  bool append(std::string_view word, std::vector<int64_t>& ids);
  /// Stores ids[from..] for the word that the last `append` did not find.
  void put(std::string_view word, const std::vector<int64_t>& ids, size_t from);

 private:
  struct Slot {
    uint64_t hash = 0;
    uint32_t text = 0;
    uint32_t ids = 0;
    uint32_t word_bytes = 0;  // 0: empty slot
    uint32_t num_ids = 0;
  };
  size_t find(std::string_view word, uint64_t hash) const;
  void clear();

  std::vector<Slot> slots_;
  size_t used_ = 0;
  std::string texts_;
  std::vector<int32_t> ids_;
};

/// Buffers of one encoding thread.
struct BpeWorkspace {
  WordCache cache;
  std::vector<int32_t> symbols;
  std::vector<MergeTable::Merge> merges;  // of each symbol with the next one
  std::vector<int32_t> previous;
  std::vector<int32_t> next;
  std::vector<uint64_t> queue;
};

class Bpe {
 public:
  /// Errors: [tokenizer/definition], [tokenizer/unsupported].
  Bpe(const JsonLocation& location, Alphabet alphabet);

  /// Appends the ids of a piece (not empty).
  void encode(std::string_view piece, BpeWorkspace& work, std::vector<int64_t>& ids) const;

  /// The largest id plus 1.
  int32_t num_ids() const { return static_cast<int32_t>(pieces_.size()); }
  /// Number of pieces. Ids without a piece are not counted.
  size_t num_pieces() const { return ids_.size(); }
  /// The piece as written in the file. Null if the id has no piece.
  const std::string* piece(int32_t id) const;
  std::optional<int32_t> find(std::string_view piece) const;
  /// The id of text that the vocabulary cannot represent. Empty: such text is dropped.
  std::optional<int32_t> unknown() const;

 private:
  void read_settings(const JsonLocation& location);
  void read_vocab(const JsonLocation& location);
  void read_merges(const JsonLocation& location);
  /// Returns false if one of the three pieces does not exist.
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
  std::vector<int32_t> byte_ids_;    // of <0x00> to <0xFF>; -1: none
  // Whole pieces in the form that `encode` receives, for ignore_merges.
  std::unordered_map<std::string, int32_t> whole_pieces_;
  size_t longest_piece_bytes_ = 0;
  // True if no merge crosses a word mark. A piece is then split before each word mark.
  bool cuts_words_ = false;
  std::vector<bool> joins_mark_;  // by code point: a merge joins it with a following word mark
};

}  // namespace s2s::hf
