#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "s2s/options.h"

namespace s2s::cuts {

/// What the source itself reads; open_cut_batches reads the rest of the block.
struct CutsOptions {
  bool repeat = true;
  std::optional<int64_t> sample_rate;
  int64_t num_workers = 1;
  int64_t prefetch_batches = 4;
  bool pin_memory = true;
  bool cache_audio = false;
  bool check_files = true;
  int64_t skip_bad = 0;
  double longest_cut = 3600;
  bool allow_no_turns = false;
  bool allow_changed_data = false;
  std::string on_restart = "continue";

  void visit(OptionVisitor& v) {
    v("repeat", repeat, "start over at the end; false: one pass (validation)");
    v("sample_rate", sample_rate,
      "rate of the frame arithmetic in Hz (NeMo's loader resamples to it); null: the recording's",
      at_least(1));
    v("num_workers", num_workers,
      "threads that make, decode, resample and pad cuts ahead; 0: load when asked",
      between(0, 256));
    v("prefetch_batches", prefetch_batches, "batches that are loaded ahead", between(1, 1024));
    v("pin_memory", pin_memory,
      "batches in page-locked memory, which a GPU copies by itself; without a GPU no difference");
    v("cache_audio", cache_audio, "keep all audio in memory after its first use");
    v("check_files", check_files,
      "look for the audio files of the first 20000 cuts at the start, of the others when read");
    v("skip_bad", skip_bad,
      "most bad cuts (unreadable, wrong length, no turns, ...) that a data rank leaves out and "
      "lists; one more stops the run",
      at_least(0));
    v("longest_cut", longest_cut,
      "a cut of more seconds is bad: the row that it is in a batch is in memory as a whole",
      at_least(0.001));
    v("allow_no_turns", allow_no_turns, "accept cuts in which nobody speaks");
    v("allow_changed_data", allow_changed_data,
      "resume although cuts or options differ: the epoch starts anew");
    v("on_restart", on_restart,
      "continue: a resumed run reads what an uninterrupted one would have; reshuffle: it begins "
      "the epoch anew with other seeds",
      one_of({"continue", "reshuffle"}));
  }
};

}  // namespace s2s::cuts
