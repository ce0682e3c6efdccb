#pragma once
// A whole Shar set, shard by shard, by several threads; what is finished is kept when it is run
// again.

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
  int64_t shard_size = 1000;          // 0: all in one shard whose files have no number
  std::optional<int64_t> seed;        // of `order`, noted for runs that go on
  std::vector<int64_t> order;         // rows of the source as they are written; empty: as they come
  int64_t num_jobs = 1;               // threads
  bool force = false;                 // numbered shards that are in the folder go first
  int64_t skip_bad = 0;               // so many cuts may have an error and are left out
  std::vector<std::string> left_out;  // messages of cuts that `cuts` lacks for an error; they count
  std::function<bool()> stop;         // asked now and then
  /// Cuts done (also those of finished shards). Called by one thread, a few times a second.
  std::function<void(int64_t)> on_progress;
};

struct WriteSharSummary {
  int64_t num_cuts = 0;    // of this run
  int64_t num_shards = 0;  // of this run
  int64_t kept_shards = 0;
  int64_t changed_shards = 0;  // that were there, of cuts or audio that have changed since
  int64_t num_bytes = 0;
  double duration_s = 0;
  bool stopped = false;
  std::vector<std::string> skipped;  // messages
  std::vector<int64_t> num_values;   // of each field, in this run
};

/// The folder is made. Settings and what the shards were made of are noted in it until the set is
/// complete, so that the same command goes on: a shard whose cuts or audio files have changed since
/// (files/source_state.h) is written again.
/// Errors: [data/shar-out] for a folder with other files or of another run, those of
/// SharShardWriter and CutRows; finished shards are there, of others nothing.
WriteSharSummary write_shar(const CutRows& cuts, const WriteSharOptions& options);

}  // namespace s2s::data
