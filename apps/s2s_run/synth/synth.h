#pragma once
// Creates a spoken data set: train.jsonl, dev.jsonl, dev_seen.jsonl, dev_turns.jsonl, texts.txt,
// synth.json and the audio. core/docs/reference/demo_data.md describes it.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "s2s_run/synth/plan.h"
#include "s2s_run/synth/worker_pool.h"

namespace s2s::synth {

struct SetSummary {
  std::filesystem::path folder;
  bool reused = false;                    // the complete set with these options existed
  std::map<std::string, size_t> cuts;     // number of cuts (of text: lines) by split
  double hours = 0;                       // total duration
  std::vector<std::string> changed = {};  // of a reused set: what is not as it was made
};

/// Creates the set unless it exists. The folder gets its name only when the set is complete.
/// num_workers: processes; 0: one per processor.
/// Errors: [synth/...].
SetSummary make_set(const std::filesystem::path& folder, const SetOptions& options,
                    size_t num_workers, const Progress& progress);

}  // namespace s2s::synth
