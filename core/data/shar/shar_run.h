#pragma once
// The folder of a Shar set that is being written: whose it is, and which shards are finished.

#include <cstdint>
#include <string>

#include "shar/write_shar.h"

namespace s2s::data {

class SharRun {
 public:
  /// Makes the folder, or finds what an earlier run of the same command has left.
  /// Errors: [data/shar-out], [io/write].
  SharRun(const CutRows& cuts, const WriteSharOptions& options);

  int64_t num_shards() const { return num_shards_; }
  /// First row of a shard in the order of writing.
  int64_t begin(int64_t shard) const;
  std::optional<int64_t> number(int64_t shard) const;
  bool is_finished(int64_t shard) const;
  /// Row of the source that is written at `position`.
  int64_t row(int64_t position) const;
  /// The set is whole: the note about the run is removed.
  void complete() const;

 private:
  std::string note_path() const;
  /// Nothing: there is none. Errors: [data/shar-out].
  std::optional<std::string> read_note() const;
  void adopt_folder(const std::string& note) const;
  void remove_shards() const;
  void remove_unfinished() const;

  const WriteSharOptions& options_;
  int64_t num_cuts_;
  int64_t num_shards_;
};

}  // namespace s2s::data
