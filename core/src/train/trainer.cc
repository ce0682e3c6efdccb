#include "train/trainer.h"

#include <ATen/ATen.h>

#include <chrono>
#include <cmath>

#include "train/train_errors.h"

namespace s2s {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::string> ids_of(const std::vector<Batch>& batches) {
  std::vector<std::string> ids;
  for (const Batch& batch : batches) ids.insert(ids.end(), batch.ids.begin(), batch.ids.end());
  return ids;
}

}  // namespace

RunObserver::~RunObserver() = default;

Trainer::Trainer(TrainerSettings settings, TrainerParts parts)
    : settings_(settings), parts_(parts) {}

Trainer::End Trainer::run(int64_t first_step) {
  const Clock::time_point start = Clock::now();
  int64_t saved = first_step;
  int64_t done = first_step;
  End end = End::kFinished;
  while (done < settings_.max_steps && end == End::kFinished) {
    const StepReport report = train_step(done);
    ++done;
    for (RunObserver* observer : observers_) observer->on_step(report);
    const auto due = [&](int64_t every) { return every > 0 && done % every == 0; };
    if (due(settings_.validate_every) && validate) {
      const ValidationReport result = validate(done);
      for (RunObserver* observer : observers_) observer->on_validation(result);
    }
    const bool late = settings_.max_time_s > 0 && seconds_since(start) > settings_.max_time_s;
    if (late || (stop_requested && stop_requested())) end = End::kStopped;
    if (due(settings_.checkpoint_every) || end == End::kStopped || done == settings_.max_steps) {
      write_checkpoint(done);
      saved = done;
    }
  }
  S2S_ASSERT(saved == done, "a run ends with a checkpoint of its last step");
  for (RunObserver* observer : observers_) observer->on_end(done);
  return done < settings_.max_steps ? End::kStopped : End::kFinished;
}

void Trainer::write_checkpoint(int64_t steps_done) {
  if (!save_checkpoint) return;
  const std::string folder = save_checkpoint(steps_done);
  for (RunObserver* observer : observers_) observer->on_checkpoint(steps_done, folder);
}

StepReport Trainer::train_step(int64_t step) {
  const Clock::time_point start = Clock::now();
  StepReport report;
  report.step = step;
  const std::vector<Batch> batches = next_batches(step);
  report.data_time_s = seconds_since(start);
  parts_.model->train(true);
  parts_.strategy->begin_step(*parts_.model);
  accumulate_gradients(batches, step, report);
  if (!std::isfinite(report.loss)) throw_not_finite("loss", report.loss, step + 1, ids_of(batches));
  parts_.strategy->finish_backward(*parts_.model);
  report.grad_norm = parts_.strategy->clip_grad_norm(*parts_.model, settings_.max_grad_norm);
  if (!std::isfinite(report.grad_norm)) {
    throw_not_finite("gradient norm", report.grad_norm, step + 1, ids_of(batches));
  }
  report.learning_rate =
      parts_.schedule->learning_rate(step, parts_.optimizer->base_learning_rate());
  parts_.optimizer->step(report.learning_rate);
  parts_.strategy->after_update(*parts_.model);
  report.step_time_s = seconds_since(start);
  return report;
}

std::vector<Batch> Trainer::next_batches(int64_t step) {
  std::vector<Batch> batches;
  for (int64_t i = 0; i < settings_.accumulate; ++i) {
    std::optional<Batch> batch = parts_.data->next();
    if (!batch) throw_data_exhausted(step, settings_.max_steps);
    batches.push_back(batch->to(settings_.device));
  }
  return batches;
}

void Trainer::accumulate_gradients(const std::vector<Batch>& batches, int64_t step,
                                   StepReport& report) {
  for (const Batch& batch : batches) {
    const BatchWeight weight = parts_.model->weigh(batch);
    report.frames += weight.frames;
    report.padded_frames += weight.padded_frames;
    report.tokens += weight.tokens;
    report.batch_size += batch.size();
  }
  const double frames = parts_.strategy->sum_over_data({static_cast<double>(report.frames)})[0];
  for (const Batch& batch : batches) {
    parts_.strategy->begin_micro_batch(*parts_.model, &batch == &batches.back());
    LossTerms loss;
    {
      const AutocastScope autocast(settings_.precision, settings_.device.type());
      loss = parts_.model->training_loss(batch, {step, frames, settings_.accumulate});
    }
    loss.total.backward();
    report.loss += loss.total.item<double>();
    for (const auto& [name, value] : loss.parts) report.parts[name] += value.item<double>();
  }
}

}  // namespace s2s
