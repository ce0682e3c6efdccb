#pragma once
// Collects the validated examples of all ranks for one report.

#include <vector>

#include "eval/metrics/report_example.h"
#include "s2s/kinds/communicator.h"
#include "s2s/kinds/strategy.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// Gathers the examples of all ranks on rank 0, in the order in which a single process validates
/// them. The other ranks keep none. Among ranks that read the same data, only one sends. All ranks
/// must call it.
void gather_examples(Communicator& world, const MeshShape& mesh,
                     std::vector<ReportExample>& examples);

/// Gives every data rank the examples of all data ranks, in the same order.
void share_examples(ParallelStrategy& strategy, std::vector<ReportExample>& examples);

}  // namespace s2s
