// Trainer functions around the steps: seeds, batches, observers, checkpoints, resuming.

#include <ATen/Context.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/foreign_json.h"
#include "train/train_errors.h"
#include "train/trainer.h"

namespace s2s {
namespace {

/// Source: SplitMix64 (Steele, Lea, Flood 2014), one step.
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

void seed_generators(uint64_t seed, const MicroBatchPlace& place) {
  at::manual_seed(mixed(mixed(seed) ^ static_cast<uint64_t>(place.number())));
}

void Trainer::begin_phase(int64_t step, TrainingPhase phase) {
  for (RunObserver* observer : observers_) observer->on_phase(step, phase);
  clock_.begin(phase);
}

void Trainer::end_run(int64_t steps_done) {
  times_.phases.add(clock_.finish());
  times_.wall_s = now_s() - started_s_;
  for (RunObserver* observer : observers_) observer->on_end(steps_done);
}

bool Trainer::is_validation_due(int64_t steps_done) const {
  return validate && settings_.validate_every > 0 && steps_done % settings_.validate_every == 0;
}

bool Trainer::is_last(int64_t steps_done) const {
  return steps_done == settings_.max_steps || is_finished_early_;
}

/// True when there is no time left for what follows if the run does not stop after this step: the
/// validation that is due, a step, and its save. The last step, validation and save tell how long
/// each takes. Ranks of a group hear of each other's wishes a step later, behind the save that is
/// due after this step.
bool Trainer::is_late(double now, bool validates) const {
  if (settings_.max_time_s <= 0) return false;
  double needed_s = step_s_ + save_s_;
  if (!is_alone_) needed_s += step_s_ + (settings_.saves.is_due(done_) ? save_s_ : 0);
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
  const double begin_s = now_s();
  release_device_memory(settings_.device);
  const ValidationReport result = validate(steps_done);
  release_device_memory(settings_.device);
  validation_s_ = now_s() - begin_s;
  for (RunObserver* observer : observers_) observer->on_validation(result);
}

void Trainer::write_checkpoint(int64_t steps_done) {
  if (!save_checkpoint) return;
  const double begin_s = now_s();
  const std::string folder = save_checkpoint(steps_done);
  save_s_ = std::max(now_s() - begin_s, last_save_s ? last_save_s() : 0);
  for (RunObserver* observer : observers_) observer->on_checkpoint(steps_done, folder);
}

std::vector<Batch> Trainer::next_batches(StepReport& report) {
  std::vector<Batch> batches;
  for (int64_t i = 0; i < settings_.accumulate; ++i) {
    if (i > 0) begin_phase(report.step, TrainingPhase::kData);
    const double start_s = now_s();
    std::optional<Batch> batch = parts_.data->next();
    report.data_wait_s += now_s() - start_s;
    if (!batch) break;
    const BatchWeight weight = parts_.model->weigh(*batch);  // reads lengths: still on the host
    report.frames += weight.frames;
    report.loss_frames += weight.normalizer();
    report.padded_frames += weight.padded_frames;
    report.tokens += weight.tokens;
    report.batch_size += batch->size();
    report.audio_s += weight.audio_s;
    report.model_flops += weight.model_flops;
    report.encoder_flops += weight.encoder_flops;
    begin_phase(report.step, TrainingPhase::kToDevice);
    batches.push_back(on_device(*batch));
  }
  report.left_out_cuts = static_cast<int64_t>(parts_.data->left_out().size());
  return batches;
}

/// Copied while the device computes the step before.
Batch Trainer::on_device(const Batch& batch) const {
  Batch copy;
  const StreamMark copied = copies_.run_ahead(
      [&] { copy = batch.to(settings_.device, /*non_blocking=*/!settings_.device.is_cpu()); });
  copies_.wait_for(copied);
  copy.for_each([&](const at::Tensor& tensor) { copies_.hand_over(tensor); });
  return copy;
}

std::string Trainer::state() const {
  nlohmann::ordered_json json = {{"skipped_steps", num_skipped_},
                                 {"skipped_in_a_row", num_skipped_in_a_row_}};
  if (loss_scale_.is_on()) {
    json["loss_scale"] = loss_scale_.read();
    json["good_steps"] = loss_scale_.num_good();
  }
  if (owes_validation_) json["owes_validation"] = 1;
  return json.dump();
}

void Trainer::restore(const std::string& state) {
  const nlohmann::json json = try_parse_foreign_json(state);
  if (!json.is_object()) return;
  num_skipped_ = json.value("skipped_steps", int64_t{0});
  num_skipped_in_a_row_ = json.value("skipped_in_a_row", int64_t{0});
  owes_validation_ = json.value("owes_validation", 0) != 0;
  loss_scale_.restore(json.value("loss_scale", LossScale::kInitial),
                      json.value("good_steps", int64_t{0}));
}

}  // namespace s2s
