#pragma once
// Examples that the ranks of a run have validated, brought together for one report.

#include <vector>

#include "eval/metrics/report_example.h"
#include "s2s/kinds/communicator.h"
#include "s2s/kinds/strategy.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// Rank 0 gets the examples of all ranks, in the order in which one process would have validated
/// them; the others keep none. Of ranks that read the same data one sends. All ranks call it.
void gather_examples(Communicator& world, const MeshShape& mesh,
                     std::vector<ReportExample>& examples);

/// Every data rank gets the examples of all, in that order; clips do not travel (keep_times_only).
void share_examples(ParallelStrategy& strategy, std::vector<ReportExample>& examples);

}  // namespace s2s
