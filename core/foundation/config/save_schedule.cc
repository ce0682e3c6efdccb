#include "config/save_schedule.h"

#include <fmt/format.h>

#include <algorithm>

namespace s2s {
namespace {

constexpr double kDefaultSeconds = 30.0 * 60;

template <HasOptions T>
T read_block(const Config& config, const std::string& path) {
  const Config* const node = config.find_path(path);
  return node != nullptr && node->is_map() ? read_options<T>(*node, path) : T();
}

}  // namespace

int64_t epoch_steps(const TrainerBlock& trainer) {
  const int64_t batches = trainer.limit_train_batches.value_or(0);
  return (batches + trainer.accumulate_grad_batches - 1) / trainer.accumulate_grad_batches;
}

bool SaveSchedule::is_due(int64_t steps_done) const {
  return std::any_of(every_steps.begin(), every_steps.end(),
                     [steps_done](int64_t every) { return steps_done % every == 0; });
}

SaveSchedule save_schedule(const CheckpointBlock& saving, const TrainerBlock& trainer) {
  SaveSchedule schedule;
  const auto add = [&](int64_t every) {
    if (every > 0) schedule.every_steps.push_back(every);
  };
  const int64_t validation = trainer.val_check_interval.value_or(0);
  const int64_t epoch = epoch_steps(trainer);
  if (!saving.every_n_train_steps && !saving.every_n_epochs && !saving.train_time_interval) {
    add(validation);
    add(epoch);
    schedule.every_s = kDefaultSeconds;
    return schedule;
  }
  add(saving.every_n_train_steps.value_or(0));
  if (saving.every_n_epochs) add(*saving.every_n_epochs * (epoch > 0 ? epoch : validation));
  schedule.every_s = saving.interval_s();
  return schedule;
}

std::string first_save_text(const SaveSchedule& schedule, int64_t steps_done, int64_t max_steps) {
  int64_t first = max_steps;
  for (const int64_t every : schedule.every_steps) {
    // The next multiple itself may exceed 64 bits.
    const int64_t to_go = every - steps_done % every;
    if (to_go < first - steps_done) first = steps_done + to_go;
  }
  const std::string step = fmt::format("after step {} of {}", first, max_steps);
  if (schedule.every_s <= 0) return step;
  const bool has_hours = schedule.every_s >= 2 * 3600;
  return fmt::format("{}, or after {:.3g} {} if that comes first", step,
                     schedule.every_s / (has_hours ? 3600 : 60), has_hours ? "hours" : "minutes");
}

std::string save_warning(const SaveSchedule& schedule, int64_t max_steps) {
  const auto& steps = schedule.every_steps;
  const bool is_early = std::any_of(steps.begin(), steps.end(),
                                    [max_steps](int64_t every) { return every < max_steps; });
  if (is_early || schedule.every_s > 0) return "";
  return fmt::format(
      "no checkpoint is written before the last step ({}), so a run that ends earlier is lost; set "
      "exp_manager.checkpoint_callback_params.every_n_train_steps to fewer steps, or "
      "train_time_interval there",
      max_steps);
}

void warn_of_saves(const Config& config, ConfigNotes& notes) {
  const auto trainer = read_block<TrainerBlock>(config, "trainer");
  const auto manager = read_block<ExpManagerBlock>(config, "exp_manager");
  const SaveSchedule schedule = save_schedule(manager.checkpoint_callback_params, trainer);
  const std::string warning = save_warning(schedule, trainer.max_steps);
  if (!warning.empty()) notes.warnings.push_back(warning);
}

}  // namespace s2s
