#pragma once
// Remembers the ids of short pieces of text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::hf_plugin {

/// A bounded map from words to ids. It empties itself when it is full. Not for several threads.
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
    uint32_t text = 0;        // where it begins in texts_
    uint32_t ids = 0;         // where they begin in ids_
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

}  // namespace s2s::hf_plugin
