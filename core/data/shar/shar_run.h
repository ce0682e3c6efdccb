#pragma once
// The folder that write_shar writes to.

#include <cstdint>
#include <optional>
#include <string>

#include "shar/cut_rows.h"
#include "shar/shard_notes.h"
#include "shar/write_shar.h"

namespace s2s::data {

/// The folder that a run writes to, and its note with which a later run can continue.
class SharRun {
 public:
  /// Creates the folder, or checks what an earlier run of the same command has left.
  /// Errors: [data/shar-out], [io/write].
  SharRun(const CutRows& cuts, const WriteSharOptions& options);

  int64_t num_shards() const { return num_shards_; }
  /// First row of a shard in the order of writing.
  int64_t begin(int64_t shard) const;
  std::optional<int64_t> number(int64_t shard) const;
  bool is_finished(int64_t shard) const;
  bool is_own(int64_t shard) const { return shard % options_.num_parts == options_.part; }
  /// Row of the source that is written at `position`.
  int64_t row(int64_t position) const;
  /// Notes of what the shards were made of.
  ShardNotes& notes() { return notes_; }
  /// Removes a shard that has to be written again.
  void forget(int64_t shard) const;
  /// Removes the notes of the run if the set is complete.
  void complete();

 private:
  std::string note_path() const;
  /// Returns nothing if there is no note. Errors: [data/shar-out].
  std::optional<std::string> read_note() const;
  void adopt_folder(const std::string& note) const;
  void remove_shards() const;
  void remove_unfinished() const;

  const WriteSharOptions& options_;
  int64_t num_cuts_;
  int64_t num_shards_;
  ShardNotes notes_;
};

}  // namespace s2s::data
