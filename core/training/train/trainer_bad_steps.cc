// Trainer functions that keep steps that went wrong, for `train --replay`.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "train/trainer.h"

namespace s2s {
std::string Trainer::fault_text(const char* what, double value) {
  return std::isnan(value) ? fmt::format("the {} is nan", what)
                           : fmt::format("the {} is {}", what, value);
}

/// Looks at the loss before the update changes the weights. Only on a CPU, which waits for nothing.
void Trainer::keep_spike(QueuedStep& step) {
  if (!keeps_steps()) return;
  const StepLosses losses = losses_of(step.sums);
  const std::string spike = spikes_.judged(losses.all, losses.terms);
  if (spike.empty()) return;
  step.report.loss = losses.all;
  keep_step(step, spike, losses.own);
  step.report.loss = 0;  // read again with the other numbers
}

/// A loss that is not finite ends the run, but the device has begun the next step by then. Its
/// update changes nothing, so that the weights of the bad step are still there.
void Trainer::hold_after_bad_loss(const StepSums& sums) {
  const at::Tensor is_bad = late_loss_of(sums).isfinite().logical_not().to(at::kFloat);
  hold_ = hold_.defined() ? at::maximum(hold_, is_bad) : is_bad;
}

/// Every rank sees the same sums, so all of them call this at the same step.
void Trainer::keep_step(QueuedStep& step, const std::string& reason, double own_loss) {
  if (!keeps_steps()) return;
  ++num_saved_;
  begin_phase(step.report.step, TrainingPhase::kSave);
  SavedStep saved;
  saved.step = step.report.step;
  saved.reason = reason;
  saved.loss = step.report.loss;
  saved.own_loss = own_loss;
  saved.grad_norm = step.report.grad_norm;
  saved.frames = step.frames;
  saved.data_rank = parts_.strategy->data_rank();
  saved.data_size = parts_.strategy->mesh().data_size();
  saved.data_state = step.data_state;
  saved.batches = step.batches;
  if (backward_update_) saved.weights_problem = "after the update of the step";
  if (!settings_.device.is_cpu() && std::isfinite(saved.loss)) {
    saved.weights_problem = "after the update of the next step, which the device had begun";
  }
  step.saved = save_step(saved);
  if (step.saved.empty()) return;
  for (RunObserver* observer : observers_) observer->on_saved_step(saved.step, reason, step.saved);
}

}  // namespace s2s
