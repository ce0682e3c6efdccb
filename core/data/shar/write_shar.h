#pragma once
// Writes a whole Shar set by several threads, one shard per thread at a time. Finished shards are
// kept when the command is run again.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "s2s/error.h"
#include "shar/cut_rows.h"
#include "shar/shar_writer.h"

namespace s2s::data {

/// A cut on its way to its shard. `error`: why it cannot be written.
struct CutToWrite {
  Cut cut;
  std::optional<Error> error = {};
};

/// A change to cuts before they are written, for example codes that are added.
struct CutChange {
  /// Called by several threads. Empty: the cuts are written as they are.
  std::function<void(std::vector<CutToWrite>&)> apply = {};
  int64_t num_cuts = 1;   // at most, in one call
  std::string name = {};  // a later run compares it
};

struct WriteSharOptions {
  SharWriterOptions writer;
  int64_t shard_size = 1000;    // 0: one shard, whose files have no number
  std::optional<int64_t> seed;  // of `order`; a later run compares it
  /// Rows of the source in the order of writing; empty: the source's order.
  std::vector<int64_t> order;
  CutChange change;
  int64_t num_jobs = 1;  // threads
  /// Which shards this process writes: those whose number is `part` modulo `num_parts`. Other
  /// processes may write the others at the same time.
  int64_t part = 0, num_parts = 1;
  bool force = false;    // removes numbered shards from the folder first
  int64_t skip_bad = 0;  // number of cuts with an error that may be left out
  /// Messages of cuts that the source has already left out; they count, too.
  std::vector<std::string> left_out;
  std::function<bool()> stop;  // polled; true stops the run
  /// Number of cuts done, including those of finished shards. Called by one thread a few times per
  /// second.
  std::function<void(int64_t)> on_progress;
};

struct WriteSharSummary {
  int64_t num_cuts = 0;    // written by this run
  int64_t num_shards = 0;  // written by this run
  int64_t kept_shards = 0;
  int64_t changed_shards = 0;  // shards that existed, but whose cuts or audio have changed
  int64_t num_bytes = 0;
  double duration_s = 0;
  bool stopped = false;
  std::vector<std::string> skipped;  // messages
  std::vector<int64_t> num_values;   // of each field, written by this run
};

/// Returns how many of a source's cuts this process writes.
int64_t num_own_cuts(const WriteSharOptions& options, int64_t num_cuts);

/// Writes a set; creates the folder. Until the set is complete, the folder keeps notes of the
/// settings and of what the shards were made of, so that the same command can continue. A shard is
/// written again if its cuts or audio files have changed (files/source_state.h). After an error,
/// finished shards exist, and nothing exists of others. The notes are removed by the process that
/// finds all shards of all parts finished.
/// Errors: [data/shar-out] for a folder with other files or of another run, those of
/// SharShardWriter and CutRows.
WriteSharSummary write_shar(const CutRows& cuts, const WriteSharOptions& options);

}  // namespace s2s::data
