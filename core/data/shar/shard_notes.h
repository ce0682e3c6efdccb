#pragma once
// Notes of what finished shards were made of. They exist until the set is complete.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "files/source_state.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

/// The file ".s2s-shar.shards" of a folder, with a line for each shard. Thread-safe after `open`.
class ShardNotes {
 public:
  explicit ShardNotes(const std::string& folder) : path_(folder + "/.s2s-shar.shards") {}
  ~ShardNotes();
  ShardNotes(const ShardNotes&) = delete;
  ShardNotes& operator=(const ShardNotes&) = delete;

  const std::string& path() const { return path_; }
  /// Reads the notes of an earlier run. Errors: [io/write].
  void open();
  /// Returns nothing if there is no note of the shard.
  std::optional<uint64_t> state_of(int64_t shard) const;
  /// Adds a note, which is on the disk when the function returns. Errors: [io/write].
  void add(int64_t shard, uint64_t state);
  /// Removes the file. Errors: [io/write].
  void remove();

 private:
  std::string path_;
  int file_ = -1;
  mutable std::mutex mutex_;
  std::map<int64_t, uint64_t> states_;
};

/// Adds a cut's manifest, and the stamps of the files that contain its audio and its arrays.
void add_source(const Cut& cut, files::SourceState& state);

}  // namespace s2s::data
