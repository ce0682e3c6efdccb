#include "train/trainer.h"

#include <ATen/ATen.h>

#include <chrono>
#include <cmath>

#include "train/loss_values.h"
#include "train/step_sums.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Trainer::Trainer(TrainerSettings settings, TrainerParts parts)
    : settings_(settings), parts_(parts), loss_scale_(settings.precision.scales_loss()) {}

Trainer::End Trainer::run(int64_t first_step) {
  started_s_ = saved_s_ = now_s();
  TrainedBuffers buffers(*parts_.model, *parts_.strategy);
  const bool is_alone = parts_.strategy->mesh().world_size() == 1;
  int64_t saved = first_step;
  int64_t done = first_step;
  while (done < settings_.max_steps && !agreed_.stop) {
    const StepReport report = train_step(done);
    ++done;
    for (RunObserver* observer : observers_) observer->on_step(report);
    const bool is_due = settings_.validate_every > 0 && done % settings_.validate_every == 0;
    if (is_due && validate) {
      begin_phase(done - 1, TrainingPhase::kValidate);
      buffers.average(*parts_.strategy);
      validate_after(done);
    }
    if (is_alone) agreed_ |= wishes();  // with one rank, no agreement between ranks is needed
    if (settings_.saves.is_due(done) || agreed_.save || agreed_.stop ||
        done == settings_.max_steps) {
      begin_phase(done - 1, TrainingPhase::kSave);
      buffers.average(*parts_.strategy);
      write_checkpoint(done);
      saved = done;
      saved_s_ = now_s();
    }
  }
  S2S_ASSERT(saved == done, "a run ends with a checkpoint of its last step");
  for (RunObserver* observer : observers_) observer->on_end(done);
  return done < settings_.max_steps ? End::kStopped : End::kFinished;
}

RankWishes Trainer::wishes() const {
  const double now = now_s();
  const bool late = settings_.max_time_s > 0 && now - started_s_ > settings_.max_time_s;
  const double every_s = settings_.saves.every_s;
  return {late || (stop_requested && stop_requested()), every_s > 0 && now - saved_s_ > every_s};
}

StepReport Trainer::train_step(int64_t step) {
  const double start_s = now_s();
  StepReport report;
  report.step = step;
  begin_phase(step, TrainingPhase::kData);
  const std::vector<Batch> batches = next_batches(report);
  begin_phase(step, TrainingPhase::kForwardBackward);
  parts_.model->train(true);
  parts_.strategy->begin_step(*parts_.model);
  const bool has_data = static_cast<int64_t>(batches.size()) == settings_.accumulate;
  const StepFrames all = agree_on_frames(*parts_.strategy, report.frames, has_data);
  if (!all.has_data) throw_data_exhausted(step, settings_.max_steps);
  accumulate_gradients(batches, all.frames, report);
  begin_phase(step, TrainingPhase::kUpdate);
  parts_.strategy->finish_backward(*parts_.model);
  const bool is_finite = std::isfinite(report.loss);
  agreed_ = sum_over_data(*parts_.strategy, report, wishes());
  if (!std::isfinite(report.loss)) {
    throw_not_finite("loss", report.loss, step + 1, ids_of_all_ranks(batches, !is_finite));
  }
  update(batches, report);
  report.step_time_s = now_s() - start_s;
  report.device_memory = take_device_memory(settings_.device);
  return report;
}

std::vector<Batch> Trainer::next_batches(StepReport& report) {
  std::vector<Batch> batches;
  for (int64_t i = 0; i < settings_.accumulate; ++i) {
    const double start_s = now_s();
    std::optional<Batch> batch = parts_.data->next();
    report.data_wait_s += now_s() - start_s;
    if (!batch) break;
    const BatchWeight weight = parts_.model->weigh(*batch);  // reads lengths: still on the host
    report.frames += weight.frames;
    report.padded_frames += weight.padded_frames;
    report.tokens += weight.tokens;
    report.batch_size += batch->size();
    batches.push_back(batch->to(settings_.device, /*non_blocking=*/settings_.device.is_cuda()));
  }
  report.left_out_cuts = static_cast<int64_t>(parts_.data->left_out().size());
  return batches;
}

void Trainer::accumulate_gradients(const std::vector<Batch>& batches, double frames,
                                   StepReport& report) {
  const int64_t data_size = parts_.strategy->mesh().data_size();
  MicroBatchPlace place = {report.step, 0, settings_.accumulate, parts_.strategy->data_rank(),
                           data_size};
  const StepContext context = {report.step, frames, settings_.accumulate * data_size};
  LossValues losses;
  for (const Batch& batch : batches) {
    seed_generators(settings_.seed, place);
    parts_.strategy->begin_micro_batch(*parts_.model, ++place.index == settings_.accumulate);
    LossTerms loss;
    {
      const AutocastScope autocast(settings_.precision, settings_.device.type());
      loss = parts_.model->training_loss(batch, context);
    }
    (loss_scale_.is_on() ? loss.total * loss_scale_.value() : loss.total).backward();
    losses.add(loss);
  }
  losses.add_to(report);
}

void Trainer::update(const std::vector<Batch>& batches, StepReport& report) {
  if (loss_scale_.is_on()) {
    report.loss_scale = loss_scale_.value();
    parts_.strategy->scale_gradients(*parts_.model, 1 / report.loss_scale);
  }
  report.grad_norm = parts_.strategy->clip_grad_norm(*parts_.model, settings_.max_grad_norm);
  report.learning_rate =
      parts_.schedule->learning_rate(report.step, parts_.optimizer->base_learning_rate());
  const bool skips = !std::isfinite(report.grad_norm);
  if (skips) {
    skip_update(batches, report);
  } else {
    parts_.optimizer->step(report.learning_rate);
    parts_.strategy->after_update(*parts_.model);
    num_skipped_in_a_row_ = 0;
  }
  loss_scale_.update(skips);
  report.skipped_steps = num_skipped_;
}

}  // namespace s2s
