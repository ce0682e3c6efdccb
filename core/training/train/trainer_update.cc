// Trainer functions that end a step: the update, and the report of a step that the device has done.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "train/train_errors.h"
#include "train/trainer.h"

namespace s2s {
namespace {

/// "data rank 1: ID" for each line of each rank's text. With one rank, there is no prefix.
std::vector<std::string> named_lines(const std::vector<std::string>& texts) {
  std::vector<std::string> lines;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    std::istringstream in(texts[rank]);
    for (std::string line; std::getline(in, line);) {
      lines.push_back(texts.size() == 1 ? line : "data rank " + std::to_string(rank) + ": " + line);
    }
  }
  return lines;
}

}  // namespace

void check_update_in_backward(const TrainerSettings& settings) {
  if (!settings.update_in_backward) return;
  if (settings.max_grad_norm > 0) throw_no_update_in_backward("gradients are clipped");
  if (settings.accumulate > 1) throw_no_update_in_backward("gradients are accumulated");
  if (settings.keeps_average) throw_no_update_in_backward("exp_manager.ema is enabled");
  if (settings.precision.scales_loss()) throw_no_update_in_backward("losses are scaled");
}

void Trainer::update_in_backward() {
  check_update_in_backward(settings_);
  std::set<const at::Tensor*> own;
  for (const NamedTensor& parameter : parts_.model->named_parameters())
    own.insert(parameter.tensor);
  const std::vector<NamedTensor> trained = parts_.strategy->optimizer_parameters(*parts_.model);
  for (const NamedTensor& parameter : trained) {
    if (!own.contains(parameter.tensor) || !is_alone_) {
      throw_no_update_in_backward("the strategy has gradients of its own");
    }
  }
  backward_update_ = std::make_unique<BackwardUpdate>(trained, *parts_.optimizer);
}

/// Updates the parameters. Returns all numbers of the step.
LateNumbers Trainer::update(const StepReport& report, const StepSums& sums) {
  const at::NoGradGuard no_grad;
  const at::Tensor scale = loss_scale_.is_on() ? loss_scale_.value().clone() : at::Tensor();
  if (keeps_steps() && !settings_.device.is_cpu()) hold_after_bad_loss(sums);
  const UpdateNumbers update =
      backward_update_ ? backward_update_->end() : update_.run(report.learning_rate, scale, hold_);
  if (backward_update_) parts_.strategy->after_update(*parts_.model);
  loss_scale_.update(update.found_inf);
  begin_phase(report.step, TrainingPhase::kReport);  // before the mark that the numbers wait for
  std::vector<at::Tensor> numbers = {sums.numbers};
  for (const at::Tensor& number : {update.grad_norm, scale}) {
    if (!number.defined()) continue;
    numbers.push_back(
        number.to(sums.numbers.device(), at::kDouble, /*non_blocking=*/true).view({1}));
  }
  return LateNumbers(at::cat(numbers));
}

/// Reads the numbers of the queued step, if there is one, and tells them to the observers.
void Trainer::report_queued_step() {
  if (!queued_) return;
  QueuedStep step = std::move(*queued_);
  queued_.reset();
  StepReport& report = step.report;
  const std::vector<double> numbers = step.numbers.read();
  report.phases = PhaseClock::read(step.marks);
  times_.phases.add(report.phases);
  ++times_.steps;
  const RankWishes agreed = read_sums(*parts_.strategy, step.sums, numbers, report);
  if (!is_alone_) agreed_ |= agreed;
  if (!std::isfinite(report.loss)) {
    keep_step(step, fault_text("loss", report.loss), numbers.front());
    const bool is_own = !std::isfinite(numbers.front());
    if (!settings_.replay) {
      throw_not_finite("loss", report.loss, report.step + 1,
                       ids_of_all_ranks(is_own ? step.batch_ids : ""), step.saved);
    }
  }
  const std::string spike = spikes_.judged(report.loss, report.parts);
  if (!settings_.device.is_cpu() && !spike.empty()) keep_step(step, spike, numbers.front());
  spikes_.add(report.loss, report.parts);
  const double* number = &numbers[static_cast<size_t>(step.sums.numbers.numel())];
  report.grad_norm = *number++;
  if (loss_scale_.is_on()) report.loss_scale = *number;
  if (std::isfinite(report.grad_norm)) {
    num_skipped_in_a_row_ = 0;
  } else {
    skip_update(step, numbers.front());
  }
  report.skipped_steps = num_skipped_;
  const double now = now_s();
  report.step_time_s = now - std::max(step.start_s, reported_s_);
  reported_s_ = now;
  step_s_ = report.step_time_s;
  for (RunObserver* observer : observers_) observer->on_step(report);
}

std::vector<std::string> Trainer::ids_of_all_ranks(const std::string& own) const {
  return named_lines(parts_.strategy->gather_texts(own));
}

/// Counts an update that was skipped, and tells the observers.
void Trainer::skip_update(QueuedStep& step, double own_loss) {
  ++num_skipped_;
  ++num_skipped_in_a_row_;
  // A loss scale is lowered by such steps: that is how it works.
  if (!loss_scale_.is_on() && std::isfinite(step.report.loss)) {
    keep_step(step, fault_text("gradient norm", step.report.grad_norm), own_loss);
  }
  SkippedStep skipped = {step.report.step, step.report.grad_norm, step.report.loss_scale,
                         num_skipped_in_a_row_, ids_of_all_ranks(step.batch_ids)};
  if (num_skipped_in_a_row_ > settings_.max_skipped) {
    throw_gradients_not_finite(skipped);
  }
  for (RunObserver* observer : observers_) observer->on_skipped_step(skipped);
}

}  // namespace s2s
