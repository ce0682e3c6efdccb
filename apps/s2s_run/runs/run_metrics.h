#pragma once
// The last lines of a run's metrics.jsonl, which may have any length.

#include "s2s_run/runs/run_record.h"

namespace s2s::run {

/// Reads the line of the last step and, if asked for, the last line of each validation set. Lines
/// that are not JSON objects are left out: a run may be writing, or have crashed. Of a file of more
/// than 16 MiB, the sets of its last two validations are read.
/// Errors: [io/line], [io/read].
void read_last_metrics(RunRecord& run, Validations validations);

}  // namespace s2s::run
