#pragma once
// Writes a whole Shar set by several threads, one shard per thread at a time. Finished shards are
// kept when the command is run again.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shar/cut_rows.h"
#include "shar/shar_writer.h"

namespace s2s::data {

struct WriteSharOptions {
  SharWriterOptions writer;
  int64_t shard_size = 1000;    // 0: one shard, whose files have no number
  std::optional<int64_t> seed;  // of `order`; a later run compares it
  /// Rows of the source in the order of writing; empty: the source's order.
  std::vector<int64_t> order;
  int64_t num_jobs = 1;  // threads
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

/// Writes a set; creates the folder. Until the set is complete, the folder keeps notes of the
/// settings and of what the shards were made of, so that the same command can continue. A shard is
/// written again if its cuts or audio files have changed (files/source_state.h). After an error,
/// finished shards exist, and nothing exists of others.
/// Errors: [data/shar-out] for a folder with other files or of another run, those of
/// SharShardWriter and CutRows.
WriteSharSummary write_shar(const CutRows& cuts, const WriteSharOptions& options);

}  // namespace s2s::data
