// Trainer functions around the updates: seeds, observers, checkpoints, skipped updates, resuming.

#include <ATen/Context.h>

#include <nlohmann/json.hpp>
#include <sstream>

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

void seed_generators(uint64_t seed, const MicroBatchPlace& place) {
  at::manual_seed(mixed(mixed(seed) ^ static_cast<uint64_t>(place.number())));
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

std::vector<std::string> Trainer::ids_of_all_ranks(const std::string& own) const {
  return named_lines(parts_.strategy->gather_texts(own));
}

/// Counts an update that was skipped, and tells the observers.
void Trainer::skip_update(const QueuedStep& step) {
  ++num_skipped_;
  ++num_skipped_in_a_row_;
  SkippedStep skipped = {step.report.step, step.report.grad_norm, step.report.loss_scale,
                         num_skipped_in_a_row_, ids_of_all_ranks(step.batch_ids)};
  if (num_skipped_in_a_row_ > settings_.max_skipped) {
    throw_gradients_not_finite(skipped);
  }
  for (RunObserver* observer : observers_) observer->on_skipped_step(skipped);
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
