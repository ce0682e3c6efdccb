#include "train/step_reporter.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "train/train_errors.h"

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

RankWishes StepReporter::report(QueuedStep step, RunTimes& times) {
  StepReport& report = step.report;
  const std::vector<double> numbers = step.numbers.read();
  report.phases = PhaseClock::read(step.marks);
  times.phases.add(report.phases);
  ++times.steps;
  const RankWishes agreed = read_sums(*parts_.strategy, step.sums, numbers, report);
  const double own_loss = numbers.front();
  if (!std::isfinite(report.loss)) {
    bad_steps_.keep(step, fault_text("loss", report.loss), own_loss);
    if (!settings_.replay) {
      throw_not_finite("loss", report.loss, report.step + 1,
                       ids_of_all_ranks(std::isfinite(own_loss) ? "" : step.batch_ids), step.saved);
    }
  }
  bad_steps_.look_after_update(step, own_loss);
  const double* number = &numbers[static_cast<size_t>(step.sums.numbers.numel())];
  report.grad_norm = *number++;
  if (settings_.precision.scales_loss()) report.loss_scale = *number;
  if (std::isfinite(report.grad_norm)) {
    skips.in_a_row = 0;
  } else {
    skip_update(step, own_loss);
  }
  report.skipped_steps = skips.total;
  const double now = now_s();
  report.step_time_s = now - std::max(step.start_s, reported_s_);
  reported_s_ = now;
  step_s_ = report.step_time_s;
  events_.tell(&RunObserver::on_step, report);
  return agreed;
}

std::vector<std::string> StepReporter::ids_of_all_ranks(const std::string& own) const {
  return named_lines(parts_.strategy->gather_texts(own));
}

void StepReporter::skip_update(QueuedStep& step, double own_loss) {
  ++skips.total;
  ++skips.in_a_row;
  const StepReport& report = step.report;
  // A loss scale is lowered by such steps: that is how it works.
  if (!settings_.precision.scales_loss() && std::isfinite(report.loss)) {
    bad_steps_.keep(step, fault_text("gradient norm", report.grad_norm), own_loss);
  }
  const SkippedStep skipped = {report.step, report.grad_norm, report.loss_scale, skips.in_a_row,
                               ids_of_all_ranks(step.batch_ids)};
  if (skips.in_a_row > settings_.max_skipped) throw_gradients_not_finite(skipped);
  events_.tell(&RunObserver::on_skipped_step, skipped);
}

}  // namespace s2s
