#pragma once
// Reads the numbers of a completed step, checks them, and notifies the observers.

#include <cstdint>
#include <string>
#include <vector>

#include "train/bad_step_keeper.h"

namespace s2s {

class StepReporter {
 public:
  struct Skips {
    int64_t total = 0;
    int64_t in_a_row = 0;
  };

  /// The objects are not owned.
  StepReporter(const TrainerSettings& settings, const TrainerParts& parts, RunEvents& events,
               BadStepKeeper& bad_steps)
      : settings_(settings), parts_(parts), events_(events), bad_steps_(bad_steps) {}

  /// Returns what any rank requested in the step. Errors: [numerics/not-finite], [comm/loss-parts].
  RankWishes report(QueuedStep step, RunTimes& times);
  /// The duration of the last step.
  double step_s() const { return step_s_; }

  /// Updates that were skipped because of non-finite gradients.
  Skips skips;

 private:
  void skip_update(QueuedStep& step, double own_loss);
  std::vector<std::string> ids_of_all_ranks(const std::string& own) const;

  const TrainerSettings& settings_;
  const TrainerParts& parts_;
  RunEvents& events_;
  BadStepKeeper& bad_steps_;
  double reported_s_ = 0;  // when the last step was reported
  double step_s_ = 0;
};

}  // namespace s2s
