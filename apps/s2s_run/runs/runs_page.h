#pragma once
// An HTML page with the learning curves of several runs.

#include <string>
#include <vector>

#include "s2s_run/runs/run_record.h"

namespace s2s::run {

/// Writes one HTML file that works offline: what differs between the runs, and for each metric the
/// curves of all runs in one chart. `partings`: sentences about where they part.
/// Errors: [io/write], [eval/metrics-line].
void write_runs_page(const std::vector<RunRecord>& runs, const std::vector<std::string>& partings,
                     const std::string& path);

}  // namespace s2s::run
