#pragma once
// Measures where a rank spends its time. On a device, times are those of its current stream,
// without what the host does ahead of it.

#include <vector>

#include "base/moment.h"
#include "comm/comm_waits.h"
#include "train/step_report.h"

namespace s2s {

/// The times of a run on this rank.
struct RunTimes {
  PhaseTimes phases;
  double wall_s = 0;  // measured apart
  int64_t steps = 0;
};

class PhaseClock {
 public:
  /// `waits`: of the collectives of the run, or null.
  PhaseClock(at::Device device, CommWaits* waits) : device_(device), waits_(waits) {}

  /// Begins a phase, and ends the one before it. The host does not wait.
  void begin(TrainingPhase phase);

  struct Mark {
    TrainingPhase phase;  // begins here
    Moment at;
    std::vector<CommWaits::Wait> waits;  // in this phase
  };
  /// Returns the phases that ended since the last call; the last mark is the beginning of the
  /// current phase.
  std::vector<Mark> take();
  /// The times of phases that the device has completed.
  static PhaseTimes read(const std::vector<Mark>& marks);
  /// Ends the current phase, waits for the device, and returns the times since the last `take`.
  PhaseTimes finish();

 private:
  at::Device device_;
  CommWaits* waits_;
  std::vector<Mark> marks_;
};

}  // namespace s2s
