// Trainer functions around the steps: seeds, batches, observers, checkpoints, resuming.

#include <ATen/Context.h>

#include <chrono>
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

double Trainer::now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Trainer::begin_phase(int64_t step, TrainingPhase phase) {
  for (RunObserver* observer : observers_) observer->on_phase(step, phase);
}

void Trainer::validate_after(int64_t steps_done) {
  release_device_memory(settings_.device);
  const ValidationReport result = validate(steps_done);
  release_device_memory(settings_.device);
  for (RunObserver* observer : observers_) observer->on_validation(result);
}

void Trainer::write_checkpoint(int64_t steps_done) {
  if (!save_checkpoint) return;
  const std::string folder = save_checkpoint(steps_done);
  for (RunObserver* observer : observers_) observer->on_checkpoint(steps_done, folder);
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
  return json.dump();
}

void Trainer::restore(const std::string& state) {
  const nlohmann::json json = try_parse_foreign_json(state);
  if (!json.is_object()) return;
  num_skipped_ = json.value("skipped_steps", int64_t{0});
  num_skipped_in_a_row_ = json.value("skipped_in_a_row", int64_t{0});
  loss_scale_.restore(json.value("loss_scale", LossScale::kInitial),
                      json.value("good_steps", int64_t{0}));
}

}  // namespace s2s
