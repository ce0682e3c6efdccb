#pragma once
// Notifies the observers of a training run, and measures its phases.

#include <string>
#include <vector>

#include "train/phase_clock.h"
#include "train/step_report.h"

namespace s2s {

class RunEvents {
 public:
  /// `waits`: of the collectives of the run, or null.
  RunEvents(at::Device device, CommWaits* waits) : clock_(device, waits) {}

  void add(RunObserver* observer) { observers_.push_back(observer); }
  /// Calls a function of every observer, in the order in which they were added.
  template <typename... Parameters, typename... Arguments>
  void tell(void (RunObserver::*event)(Parameters...), const Arguments&... arguments) {
    for (RunObserver* observer : observers_) (observer->*event)(arguments...);
  }
  /// A phase begins, and the one before it ends. `step` is 0-based.
  void begin_phase(int64_t step, TrainingPhase phase) {
    tell(&RunObserver::on_phase, step, phase);
    clock_.begin(phase);
  }
  PhaseClock& clock() { return clock_; }

 private:
  std::vector<RunObserver*> observers_;
  PhaseClock clock_;
};

}  // namespace s2s
