#pragma once
// The columns of a table of runs.

#include <ctime>
#include <string>
#include <vector>

#include "s2s_run/runs/run_record.h"

namespace s2s::run {

/// Of the local time zone.
std::tm local_time(std::time_t time);

/// "2026-03-01 09:30", the local time at which the run started, or "-".
std::string started_text(const RunRecord& run);

/// "40 of 100": the last step and trainer.max_steps.
std::string steps_text(const RunRecord& run);

/// The loss of the last step, or "-".
std::string last_loss_text(const RunRecord& run);

/// "trainer.seed=2, model.optimizer.lr=1e-3": for each run the configuration values by which it
/// differs from the others. A value that more than half of the runs have sets no run apart and is
/// left out. Names of components come first, then keys that all runs have, the rarest values before
/// the others. "-": none.
std::vector<std::string> own_values(const std::vector<ConfigDifference>& differences,
                                    size_t num_runs);

}  // namespace s2s::run
