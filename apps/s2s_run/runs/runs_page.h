#pragma once
// An HTML page about training runs: facts, differences, learning curves.

#include <string>
#include <vector>

#include "s2s_run/runs/run_record.h"

namespace s2s::run {

struct RunsPage {
  std::vector<std::string> sentences;  // above the tables
  /// Seconds after which a browser reads the page again; 0: it does not.
  int refresh_s = 0;
};

/// Writes one HTML file that works offline: a table of the runs with links to their reports, what
/// differs between them, and for each metric the curves of all runs in one chart. Of a single run,
/// related metrics share a chart. Errors: [io/write], [eval/metrics-line].
void write_runs_page(const std::vector<RunRecord>& runs, const RunsPage& page,
                     const std::string& path);

/// Errors: [io/exists] if there is a file at `path` that write_runs_page did not write.
void require_own_page(const std::string& path);

}  // namespace s2s::run
