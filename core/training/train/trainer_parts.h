#pragma once
// The objects that a training loop uses, and a step between its computation and its report.

#include <cstdint>
#include <string>
#include <vector>

#include "base/side_stream.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/schedule.h"
#include "s2s/kinds/strategy.h"
#include "train/phase_clock.h"
#include "train/step_report.h"
#include "train/step_sums.h"

namespace s2s {

/// They are not owned.
struct TrainerParts {
  Model* model = nullptr;
  DataSource* data = nullptr;
  ParallelStrategy* strategy = nullptr;
  Optimizer* optimizer = nullptr;
  Schedule* schedule = nullptr;
  CommWaits* comm_waits = nullptr;  // of the run's collectives; may be null
};

/// A step whose work has been given to the device. The host has not read its numbers.
struct QueuedStep {
  StepReport report;      // what the host knows
  bool has_data = false;  // on all ranks; false: nothing was computed
  std::string batch_ids;
  std::vector<Batch> batches;  // as long as bad steps are saved
  std::string data_state;      // before them
  double frames = 0;           // on all data ranks
  std::string saved;           // the file of a bad step
  double start_s = 0;
  StepSums sums;
  LateNumbers numbers;  // of `sums`, then the gradient norm and the loss scale
  std::vector<PhaseClock::Mark> marks;
};

}  // namespace s2s
