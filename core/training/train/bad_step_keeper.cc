#include "train/bad_step_keeper.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

namespace s2s {

std::string fault_text(const char* what, double value) {
  return std::isnan(value) ? fmt::format("the {} is nan", what)
                           : fmt::format("the {} is {}", what, value);
}

at::Tensor BadStepKeeper::look_before_update(QueuedStep& step) {
  if (!keeps_steps()) return hold_;
  if (!settings_.device.is_cpu()) {
    const at::Tensor is_bad = late_loss_of(step.sums).isfinite().logical_not().to(at::kFloat);
    hold_ = hold_.defined() ? at::maximum(hold_, is_bad) : is_bad;
    return hold_;
  }
  const StepLosses losses = losses_of(step.sums);
  const std::string spike = spikes_.judged(losses.all, losses.terms);
  if (!spike.empty()) {
    step.report.loss = losses.all;
    keep(step, spike, losses.own);
    step.report.loss = 0;  // read again with the other numbers
  }
  return hold_;
}

void BadStepKeeper::look_after_update(QueuedStep& step, double own_loss) {
  const StepReport& report = step.report;
  const std::string spike = spikes_.judged(report.loss, report.parts);
  if (!settings_.device.is_cpu() && !spike.empty()) keep(step, spike, own_loss);
  spikes_.add(report.loss, report.parts);
}

void BadStepKeeper::keep(QueuedStep& step, const std::string& reason, double own_loss) {
  if (!keeps_steps()) return;
  ++num_saved_;
  events_.begin_phase(step.report.step, TrainingPhase::kSave);
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
  if (settings_.update_in_backward) saved.weights_problem = "after the update of the step";
  if (!settings_.device.is_cpu() && std::isfinite(saved.loss)) {
    saved.weights_problem = "after the update of the next step, which the device had begun";
  }
  step.saved = save_(saved);
  if (!step.saved.empty()) {
    events_.tell(&RunObserver::on_saved_step, saved.step, reason, step.saved);
  }
}

}  // namespace s2s
