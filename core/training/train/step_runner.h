#pragma once
// Computes the steps of a training loop: the batches, the micro-batches as the strategy runs them,
// and the update. On a device, the host queues the work and does not wait for it.

#include <memory>
#include <vector>

#include "base/side_stream.h"
#include "train/backward_update.h"
#include "train/bad_step_keeper.h"
#include "train/gradient_update.h"

namespace s2s {

class StepRunner {
 public:
  /// The objects are not owned. Errors: [config/update-in-backward].
  StepRunner(const TrainerSettings& settings, const TrainerParts& parts, RunEvents& events,
             BadStepKeeper& bad_steps);

  /// Queues a step, 0-based. Without data on all ranks, it ends before the forward. own: what this
  /// rank requests.
  QueuedStep queue(int64_t step, const std::function<RankWishes()>& own);
  LossScale& loss_scale() { return loss_scale_; }
  const LossScale& loss_scale() const { return loss_scale_; }

 private:
  void update_in_backward();
  std::vector<Batch> next_batches(QueuedStep& step);
  Batch on_device(const Batch& batch) const;
  LossSums accumulate_gradients(const std::vector<Batch>& batches, const QueuedStep& step);
  void update(QueuedStep& step);

  const TrainerSettings& settings_;
  const TrainerParts& parts_;
  RunEvents& events_;
  BadStepKeeper& bad_steps_;
  LossScale loss_scale_;
  GradientUpdate update_;
  std::unique_ptr<BackwardUpdate> backward_update_;  // null: the update follows the backward
  SideStream copies_;                                // of batches
};

}  // namespace s2s
