#pragma once

#include <cstdint>
#include <optional>

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
struct ManifestOptions {
  Config cuts_path;
  std::optional<int64_t> batch_size;
  std::optional<double> batch_duration;
  bool shuffle = false;
  std::optional<int64_t> seed;
  bool drop_last = false;
  double min_duration = -1;
  std::optional<double> max_duration;
  std::optional<int64_t> limit;
  ConcatenateOptions concatenate;

  void visit(OptionVisitor& v) {
    v("cuts_path", cuts_path, "Lhotse cuts, .jsonl or .jsonl.gz: a file or a list of files");
    v("batch_size", batch_size, "most sequences in a batch", at_least(1));
    v("batch_duration", batch_duration, "most audio in a batch in s: count x longest", at_least(0));
    v("shuffle", shuffle, "another order in each epoch; false: the manifest's order");
    v("seed", seed, "of the order; null: the run's seed", at_least(0));
    v("drop_last", drop_last, "leave out an epoch's last batch when it is not full");
    v("min_duration", min_duration, "shorter cuts are left out, in s");
    v("max_duration", max_duration, "longer cuts are left out, in s; null: none");
    v("limit", limit, "only the first cuts of the set", at_least(1));
    v("concatenate", concatenate, "several cuts in one sequence");
  }
};

}  // namespace s2s::cuts
