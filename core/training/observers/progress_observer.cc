#include "observers/progress_observer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "nn/attention_choice.h"

namespace s2s::run {
namespace {

ProgressSettings settings(int64_t first_step, int64_t max_steps) {
  ProgressSettings out;
  out.title = "train";
  out.total = max_steps;
  out.start = first_step;
  return out;
}

/// Waiting is shown when it takes at least this share of a step, or of a second.
constexpr double kShownDataWait = 0.05, kShownProcessorWait = 0.2;
/// Weight of the newest step in the running mean.
constexpr double kNewest = 0.1;

std::string rates(const StepReport& report) {
  const auto per_s = [&report](double amount) { return amount / report.step_time_s; };
  std::string text = fmt::format("{:.0f} frames/s  {:.0f} tokens/s  {:.2f} audio hours/h",
                                 per_s(static_cast<double>(report.frames)),
                                 per_s(static_cast<double>(report.tokens)), per_s(report.audio_s));
  const double flops = report.model_flops + report.encoder_flops;
  if (flops > 0) text += fmt::format("  {:.3g} TFLOP/s", 1e-12 * per_s(flops));
  if (flops > 0 && report.peak_flops > 0) {
    text += fmt::format("  utilization {:.1f} %", 100 * report.utilization());
  }
  return text;
}

std::string losses(const StepReport& report) {
  std::string text = fmt::format("loss {:.3f}", report.loss);
  for (const auto& [name, value] : report.parts) text += fmt::format("  {} {:.3f}", name, value);
  return text;
}

}  // namespace

ProgressObserver::ProgressObserver(Console& console, Log& log, int64_t first_step,
                                   int64_t max_steps, int64_t log_every_n_steps)
    : log_(log),
      first_step_(first_step),
      bar_(console, settings(first_step, max_steps)),
      log_every_n_steps_(log_every_n_steps) {}

void ProgressObserver::on_step(const StepReport& report) {
  const int64_t done = report.step + 1;
  data_wait_s_ += kNewest * (report.data_wait_s - data_wait_s_);
  step_s_ += kNewest * (report.step_time_s - step_s_);
  bar_.update(done, losses(report) + waiting());
  for (const AttentionNote& note : take_attention_notes()) {
    note.is_warning ? log_.warning(note.text) : log_.info(note.text);
  }
  if (done % log_every_n_steps_ != 0) return;
  log_.debug(fmt::format("step {}  {}  grad norm {:.3f}  lr {:.3g}  {}", done, losses(report),
                         report.grad_norm, report.learning_rate, rates(report)));
}

std::string ProgressObserver::waiting() {
  std::string text;
  if (data_wait_s_ > kShownDataWait * step_s_) {
    text += fmt::format("  waits for data {:.0f} %", 100 * data_wait_s_ / step_s_);
  }
  if (const double share = processor_waits_.share(); share > kShownProcessorWait) {
    text += fmt::format("  waits for a processor {:.0f} %", 100 * share);
  }
  return text;
}

void ProgressObserver::on_skipped_step(const SkippedStep& skipped) {
  const std::string scale =
      skipped.loss_scale == 0 ? "" : fmt::format(" at a loss scale of {:g}", skipped.loss_scale);
  log_.warning(fmt::format(
      "step {}: the gradient norm is {}{}; update skipped ({} in a row); the batch contained {}",
      skipped.step + 1, skipped.grad_norm, scale, skipped.in_a_row,
      fmt::join(skipped.batch_ids, ", ")));
}

void ProgressObserver::on_saved_step(int64_t step, const std::string& reason,
                                     const std::string& file) {
  log_.warning(fmt::format("step {}: {}; to run it again: s2s-run train --replay {}", step + 1,
                           reason, file));
}

void ProgressObserver::on_validation(const ValidationReport& report) {
  for (const auto& [set, metrics] : report.sets) {
    std::string text = fmt::format("validation of {} after {} steps:", set, report.step);
    for (const auto& [name, value] : metrics) {
      if (!name.starts_with("audio_accuracy_")) text += fmt::format("  {} {:.3f}", name, value);
    }
    log_.info(text);
  }
}

void ProgressObserver::on_checkpoint(int64_t, const std::string& folder) {
  log_.info("checkpoint " + folder);
}

void ProgressObserver::on_end(int64_t steps_done) {
  if (steps_done > first_step_) bar_.finish();  // otherwise no step was run
  log_.debug(fmt::format("{} optimizer steps done", steps_done));
}

}  // namespace s2s::run
