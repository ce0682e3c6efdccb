#include "train/trainer.h"

#include <ATen/ATen.h>

#include "base/fnv.h"
#include "s2s/error.h"
#include "train/loss_sums.h"
#include "train/step_sums.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

/// The sums of 32 bits of two million ids are exact in a double, in which ranks add them up.
int64_t hash_of_id(const std::string& id) { return static_cast<int64_t>(fnv1a(id) & 0xffffffffU); }

}  // namespace

Trainer::Trainer(TrainerSettings settings, TrainerParts parts)
    : settings_(settings),
      parts_(parts),
      loss_scale_(settings.precision.scales_loss(), settings.device),
      update_(*parts.model, *parts.strategy, *parts.optimizer, settings.max_grad_norm),
      copies_(settings.device),
      clock_(settings.device, parts.comm_waits),
      is_alone_(parts.strategy->mesh().world_size() == 1) {
  if (settings.update_in_backward) update_in_backward();
}

Trainer::End Trainer::run(int64_t first_step) {
  times_ = {};
  started_s_ = saved_s_ = now_s();
  clock_.begin(TrainingPhase::kReport);
  TrainedBuffers buffers(*parts_.model, *parts_.strategy);
  int64_t saved = done_ = first_step;
  if (owes_validation_ && is_validation_due(done_)) {
    begin_phase(done_ - 1, TrainingPhase::kValidate);
    validate_after(done_);
  }
  owes_validation_ = false;
  while (done_ < settings_.max_steps && !agreed_.stop && !is_finished_early_) {
    train_step(done_++);
    if (is_alone_) agreed_ |= wishes();  // with one rank, no agreement between ranks is needed
    if (is_validation_due(done_)) {
      report_queued_step();
      // Whoever asks to stop may not wait for a validation.
      owes_validation_ = agreed_.stop && !is_last(done_);
      if (!owes_validation_) {
        begin_phase(done_ - 1, TrainingPhase::kValidate);
        buffers.average(*parts_.strategy);
        validate_after(done_);
        if (is_alone_) agreed_ |= wishes(/*validates=*/false);
      }
    }
    if (settings_.saves.is_due(done_) || agreed_.save || agreed_.stop || is_last(done_)) {
      report_queued_step();
      begin_phase(done_ - 1, TrainingPhase::kSave);
      buffers.average(*parts_.strategy);
      write_checkpoint(done_);
      saved = done_;
      saved_s_ = now_s();
      if (is_alone_) agreed_ |= wishes(/*validates=*/false);
      agreed_.save = false;
    }
  }
  S2S_ASSERT(saved == done_, "a run ends with a checkpoint of its last step");
  end_run(done_);
  return is_last(done_) || done_ > settings_.max_steps ? End::kFinished : End::kStopped;
}

/// Queues a step. Then reports the one before it, which the device has done or is about to end, so
/// that the device does not wait for the host. A CPU has done the step itself.
void Trainer::train_step(int64_t step) {
  try {
    QueuedStep queued = queue_step(step);
    report_queued_step();
    queued_ = std::move(queued);
    if (settings_.device.is_cpu()) report_queued_step();
  } catch (const Error&) {
    if (is_alone_) report_queued_step();  // other ranks may not take part
    throw;
  }
}

Trainer::QueuedStep Trainer::queue_step(int64_t step) {
  QueuedStep queued;
  StepReport& report = queued.report;
  report.step = step;
  begin_phase(step, TrainingPhase::kData);
  queued.start_s = now_s();
  if (keeps_steps()) queued.data_state = parts_.data->state();
  const std::vector<Batch> batches = next_batches(report);
  if (keeps_steps()) queued.batches = batches;
  for (const Batch& batch : batches) {
    for (const std::string& id : batch.ids) {
      queued.batch_ids += id + "\n";
      report.batch_hash += hash_of_id(id);
    }
  }
  for (RunObserver* observer : observers_) observer->on_batch(step, queued.batch_ids);
  begin_phase(step, TrainingPhase::kForward);
  parts_.model->train(true);
  parts_.strategy->begin_step(*parts_.model);
  const bool has_data = static_cast<int64_t>(batches.size()) == settings_.accumulate;
  const StepFrames all = agree_on_frames(*parts_.strategy, report.loss_frames, has_data);
  if (!all.has_data) {
    report_queued_step();
    throw_data_exhausted(step, settings_.max_steps);
  }
  report.learning_rate =
      parts_.schedule->learning_rate(step, parts_.optimizer->base_learning_rate());
  if (backward_update_) backward_update_->begin(report.learning_rate);
  queued.frames = settings_.replay ? settings_.replay->frames : all.frames;
  const LossSums losses = accumulate_gradients(batches, queued.frames, report);
  parts_.strategy->finish_backward(*parts_.model);
  begin_phase(step, TrainingPhase::kUpdate);
  queued.sums = sum_over_data(*parts_.strategy, report, losses, wishes());
  if (settings_.device.is_cpu()) keep_spike(queued);
  queued.numbers = update(report, queued.sums);
  report.device_memory = take_device_memory(settings_.device);
  report.peak_flops = settings_.peak_flops;
  queued.marks = clock_.take();
  return queued;
}

LossSums Trainer::accumulate_gradients(const std::vector<Batch>& batches, double frames,
                                       const StepReport& report) {
  const ReplayedPlace own = settings_.replay.value_or(
      ReplayedPlace{parts_.strategy->data_rank(), parts_.strategy->mesh().data_size(), frames});
  const int64_t data_size = own.data_size;
  MicroBatchPlace place = {report.step, 0, settings_.accumulate, own.data_rank, data_size};
  const StepContext context = {report.step, frames, settings_.accumulate * data_size};
  LossSums losses;
  for (const Batch& batch : batches) {
    if (place.index > 0) begin_phase(report.step, TrainingPhase::kForward);
    seed_generators(settings_.seed, place);
    parts_.strategy->begin_micro_batch(*parts_.model, ++place.index == settings_.accumulate);
    LossTerms loss;
    {
      const AutocastScope autocast(settings_.precision, settings_.device.type());
      loss = parts_.model->training_loss(batch, context);
    }
    begin_phase(report.step, TrainingPhase::kBackward);
    (loss_scale_.is_on() ? loss.total * loss_scale_.value() : loss.total).backward();
    losses.add(loss);
  }
  return losses;
}

}  // namespace s2s
