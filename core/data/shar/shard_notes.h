#pragma once
// What the finished shards of a run were made of, until the set is complete.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "files/source_state.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

/// ".s2s-shar.shards" of a folder: a line for each shard. Thread-safe after `open`.
class ShardNotes {
 public:
  explicit ShardNotes(const std::string& folder) : path_(folder + "/.s2s-shar.shards") {}
  ~ShardNotes();
  ShardNotes(const ShardNotes&) = delete;
  ShardNotes& operator=(const ShardNotes&) = delete;

  const std::string& path() const { return path_; }
  /// Reads what an earlier run has noted. Errors: [io/write].
  void open();
  /// Nothing: not noted.
  std::optional<uint64_t> state_of(int64_t shard) const;
  /// On the disk when it returns. Errors: [io/write].
  void add(int64_t shard, uint64_t state);
  /// Errors: [io/write].
  void remove();

 private:
  std::string path_;
  int file_ = -1;
  mutable std::mutex mutex_;
  std::map<int64_t, uint64_t> states_;
};

/// Adds what a cut says, and the stamps of the files that its audio and its arrays are read from.
void add_source(const Cut& cut, files::SourceState& state);

}  // namespace s2s::data
