#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/options.h"

namespace s2s::cuts {

/// Several cuts of the set, one after the other, as one sequence.
struct ConcatenateOptions {
  double max_duration = 0;
  double gap = 0;
  double max_gap = 0;
  int64_t open_sequences = 16;

  void visit(OptionVisitor& v) {
    v("max_duration", max_duration, "longest sequence in s, whole frames; 0: cuts stay alone",
      at_least(0));
    v("gap", gap, "silence between two cuts in s, whole frames", at_least(0));
    v("max_gap", max_gap, "drawn evenly from gap to max_gap when that is longer", at_least(0));
    v("open_sequences", open_sequences, "sequences that are filled at the same time", at_least(1));
  }
};

/// Names as in NeMo's loader where it has them.
struct CutsOptions {
  Config cuts_path;
  std::optional<int64_t> batch_size;
  std::optional<double> batch_duration;
  bool shuffle = false;
  std::optional<int64_t> seed;
  bool repeat = true;
  bool drop_last = false;
  double min_duration = -1;
  std::optional<double> max_duration;
  std::optional<int64_t> limit;
  std::optional<int64_t> sample_rate;
  ConcatenateOptions concatenate;
  int64_t num_workers = 1;
  int64_t prefetch_batches = 4;
  bool cache_audio = false;
  bool check_files = true;
  bool allow_no_turns = false;
  bool allow_changed_data = false;

  void visit(OptionVisitor& v) {
    v("cuts_path", cuts_path, "Lhotse cuts, .jsonl or .jsonl.gz: a file or a list of files");
    v("batch_size", batch_size, "most sequences in a batch", at_least(1));
    v("batch_duration", batch_duration, "most audio in a batch in s: count x longest", at_least(0));
    v("shuffle", shuffle, "another order in each epoch; false: the manifest's order");
    v("seed", seed, "of the order; null: the run's seed", at_least(0));
    v("repeat", repeat, "start over at the end; false: one pass (validation)");
    v("drop_last", drop_last, "leave out an epoch's last batch when it is not full");
    v("min_duration", min_duration, "shorter cuts are left out, in s");
    v("max_duration", max_duration, "longer cuts are left out, in s; null: none");
    v("limit", limit, "only the first cuts of the set", at_least(1));
    v("sample_rate", sample_rate,
      "rate of the frame arithmetic in Hz (NeMo's loader resamples to it); null: the recording's",
      at_least(1));
    v("concatenate", concatenate, "several cuts in one sequence");
    v("num_workers", num_workers, "threads that load batches ahead; 0: load when asked",
      between(0, 256));
    v("prefetch_batches", prefetch_batches, "batches that are loaded ahead", between(1, 1024));
    v("cache_audio", cache_audio, "keep all audio in memory after its first use");
    v("check_files", check_files, "look for every audio file at the start");
    v("allow_no_turns", allow_no_turns, "accept cuts in which nobody speaks");
    v("allow_changed_data", allow_changed_data,
      "resume although cuts or options differ: the epoch starts anew");
  }
};

}  // namespace s2s::cuts
