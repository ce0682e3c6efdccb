#pragma once
// Makes a spoken data set: train.jsonl, dev.jsonl, dev_seen.jsonl, dev_turns.jsonl, texts.txt,
// synth.json and the audio. core/docs/reference/demo_data.md describes it.

#include <filesystem>
#include <map>
#include <string>

#include "s2s_run/synth/plan.h"
#include "s2s_run/synth/worker_pool.h"

namespace s2s::synth {

struct SetSummary {
  std::filesystem::path folder;
  bool reused = false;                 // it was there, complete and with the same options
  std::map<std::string, size_t> cuts;  // of each split
  double hours = 0;                    // of all cuts
};

/// Makes the set, or finds it made. The folder appears under its name only when it is complete.
/// num_workers: processes; 0 takes one for each processor.
/// Errors: [synth/...].
SetSummary make_set(const std::filesystem::path& folder, const SetOptions& options,
                    size_t num_workers, const Progress& progress);

}  // namespace s2s::synth
