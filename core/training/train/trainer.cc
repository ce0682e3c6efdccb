#include "train/trainer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/foreign_json.h"
#include "s2s/error.h"
#include "train/train_errors.h"

namespace s2s {

Trainer::Trainer(TrainerSettings settings, TrainerParts parts)
    : settings_(settings),
      parts_(parts),
      events_(settings.device, parts.comm_waits),
      bad_steps_(settings_, parts_, events_, save_step),
      steps_(settings_, parts_, events_, bad_steps_),
      reports_(settings_, parts_, events_, bad_steps_),
      is_alone_(parts.strategy->mesh().world_size() == 1) {}

Trainer::End Trainer::run(int64_t first_step) {
  times_ = {};
  started_s_ = saved_s_ = now_s();
  events_.clock().begin(TrainingPhase::kReport);
  TrainedBuffers buffers(*parts_.model, *parts_.strategy);
  int64_t saved = done_ = first_step;
  if (owes_validation_ && is_validation_due(done_)) validate_after(done_);
  owes_validation_ = false;
  while (done_ < settings_.max_steps && !agreed_.stop && !is_finished_early_) {
    train_step(done_++);
    if (is_alone_) agreed_ |= wishes();  // with one rank, no agreement between ranks is needed
    if (is_validation_due(done_)) {
      report_queued_step();
      // Whoever asks to stop may not wait for a validation.
      owes_validation_ = agreed_.stop && !is_last(done_);
      if (!owes_validation_) {
        buffers.average(*parts_.strategy);
        validate_after(done_);
        if (is_alone_) agreed_ |= wishes(/*validates=*/false);
      }
    }
    if (settings_.saves.is_due(done_) || agreed_.save || agreed_.stop || is_last(done_)) {
      report_queued_step();
      events_.begin_phase(done_ - 1, TrainingPhase::kSave);
      buffers.average(*parts_.strategy);
      write_checkpoint(done_);
      saved = done_;
      saved_s_ = now_s();
      if (is_alone_) agreed_ |= wishes(/*validates=*/false);
      agreed_.save = false;
    }
  }
  S2S_ASSERT(saved == done_, "a run ends with a checkpoint of its last step");
  times_.phases.add(events_.clock().finish());
  times_.wall_s = now_s() - started_s_;
  events_.tell(&RunObserver::on_end, done_);
  return is_last(done_) || done_ > settings_.max_steps ? End::kFinished : End::kStopped;
}

/// Queues a step. Then reports the one before it, which the device has done or is about to end, so
/// that the device does not wait for the host. A CPU has done the step itself.
void Trainer::train_step(int64_t step) {
  try {
    QueuedStep queued = steps_.queue(step, [this] { return wishes(); });
    report_queued_step();
    if (!queued.has_data) throw_data_exhausted(step, settings_.max_steps);
    queued_ = std::move(queued);
    if (settings_.device.is_cpu()) report_queued_step();
  } catch (const Error&) {
    if (is_alone_) report_queued_step();  // other ranks may not take part
    throw;
  }
}

void Trainer::report_queued_step() {
  if (!queued_) return;
  QueuedStep step = std::move(*queued_);
  queued_.reset();
  const RankWishes agreed = reports_.report(std::move(step), times_);
  if (!is_alone_) agreed_ |= agreed;
}

bool Trainer::is_validation_due(int64_t steps_done) const {
  return validate && settings_.validate_every > 0 && steps_done % settings_.validate_every == 0;
}

bool Trainer::is_last(int64_t steps_done) const {
  return steps_done == settings_.max_steps || is_finished_early_;
}

/// True when there is no time left for what follows if the run does not stop after this step: the
/// validation that is due, a step, and its save. The last step, validation and save tell how long
/// each takes. Ranks of a group learn each other's wishes one step later, after the save that is
/// due after this step.
bool Trainer::is_late(double now, bool validates) const {
  if (settings_.max_time_s <= 0) return false;
  const double step_s = reports_.step_s();
  double needed_s = step_s + save_s_;
  if (!is_alone_) needed_s += step_s + (settings_.saves.is_due(done_) ? save_s_ : 0);
  if (validates && is_validation_due(done_)) needed_s += validation_s_;
  return settings_.used_time_s + now - started_s_ + needed_s > settings_.max_time_s;
}

RankWishes Trainer::wishes(bool validates) const {
  const double now = now_s();
  const double every_s = settings_.saves.every_s;
  return {is_late(now, validates) || (stop_requested && stop_requested()),
          every_s > 0 && now - saved_s_ > every_s};
}

void Trainer::validate_after(int64_t steps_done) {
  events_.begin_phase(steps_done - 1, TrainingPhase::kValidate);
  const double begin_s = now_s();
  release_device_memory(settings_.device);
  const ValidationReport result = validate(steps_done);
  release_device_memory(settings_.device);
  validation_s_ = now_s() - begin_s;
  events_.tell(&RunObserver::on_validation, result);
}

void Trainer::write_checkpoint(int64_t steps_done) {
  if (!save_checkpoint) return;
  const double begin_s = now_s();
  const std::string folder = save_checkpoint(steps_done);
  save_s_ = std::max(now_s() - begin_s, last_save_s ? last_save_s() : 0);
  events_.tell(&RunObserver::on_checkpoint, steps_done, folder);
}

std::string Trainer::state() const {
  nlohmann::ordered_json json = {{"skipped_steps", reports_.skips.total},
                                 {"skipped_in_a_row", reports_.skips.in_a_row}};
  if (const LossScale& scale = steps_.loss_scale(); scale.is_on()) {
    json["loss_scale"] = scale.read();
    json["good_steps"] = scale.num_good();
  }
  if (owes_validation_) json["owes_validation"] = 1;
  return json.dump();
}

void Trainer::restore(const std::string& state) {
  const nlohmann::json json = try_parse_foreign_json(state);
  if (!json.is_object()) return;
  reports_.skips = {json.value("skipped_steps", int64_t{0}),
                    json.value("skipped_in_a_row", int64_t{0})};
  owes_validation_ = json.value("owes_validation", 0) != 0;
  steps_.loss_scale().restore(json.value("loss_scale", LossScale::kInitial),
                              json.value("good_steps", int64_t{0}));
}

}  // namespace s2s
