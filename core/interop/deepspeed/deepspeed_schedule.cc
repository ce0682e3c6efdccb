// The block `scheduler` of DeepSpeed's files.

#include <array>
#include <cmath>

#include "base/number_text.h"
#include "config/config_errors.h"
#include "deepspeed/deepspeed_values.h"

namespace s2s::interop {
namespace {

struct DeepSpeedSchedule {
  std::string_view theirs;
  const char* ours;
};
constexpr std::array kSchedules = {
    DeepSpeedSchedule{"WarmupLR", "warmup_lr"},
    DeepSpeedSchedule{"WarmupDecayLR", "warmup_decay_lr"},
    DeepSpeedSchedule{"WarmupCosineLR", "warmup_cosine_lr"},
    DeepSpeedSchedule{"OneCycle", "one_cycle_lr"},
    DeepSpeedSchedule{"LRRangeTest", "lr_range_test"},
    // Names of transformers' schedules, which other generators write.
    DeepSpeedSchedule{"cosine", "warmup_cosine_lr"},
    DeepSpeedSchedule{"linear", "warmup_decay_lr"},
};

constexpr const char* kSchedule = "model.lr_scheduler.";

void set_total_steps(ForeignFile& file, const Config& from) {
  const Config* const steps = file.config.find_path("trainer.max_steps");
  if (steps != nullptr) file.set(std::string(kSchedule) + "total_num_steps", *steps, from);
}

/// "auto" is what transformers' trainer writes there: the steps of `training`, or a part of all
/// steps, or 0. Source: transformers/integrations/deepspeed.py, trainer_config_finalize.
void set_warmup_steps(ForeignFile& file, const Config& from) {
  const std::string path = std::string(kSchedule) + "warmup_num_steps";
  const Config* const ours = file.config.find_path(path);
  if (ours != nullptr && !ours->is_null()) return;
  const Config* const steps = file.config.find_path("training.warmup_steps");
  if (steps != nullptr && whole_number(*steps).value_or(0) > 0) return file.set(path, *steps, from);
  const Config* const ratio = file.config.find_path("training.warmup_ratio");
  const Config* const all = file.config.find_path("trainer.max_steps");
  const double part = ratio == nullptr ? 0 : read_number<double>(ratio->text()).value_or(0);
  const int64_t count = all == nullptr ? 0 : whole_number(*all).value_or(0);
  if (part > 0 && count > 0) {
    const auto share = static_cast<int64_t>(std::ceil(part * static_cast<double>(count)));
    return file.set(path, std::to_string(share), from);
  }
  file.set(path, "0", from);
  file.notes.others.push_back(config_place("scheduler.params.warmup_num_steps", from) +
                              " is \"auto\": no warm-up; model.lr_scheduler.warmup_num_steps, "
                              "training.warmup_steps or training.warmup_ratio would give one");
}

/// transformers' cosine and linear rise linearly, and end with the run.
void finish_transformers_schedule(ForeignFile& file, const Config& type) {
  file.set_default(std::string(kSchedule) + "warmup_type", "linear", type);
  if (file.find("scheduler.params.total_num_steps") == nullptr) set_total_steps(file, type);
}

/// The momentum of OneCycle: AdamW's betas stay.
bool is_of_momentum(const std::string& key) {
  return key.starts_with("cycle_m") && key.ends_with("_mom");
}

void read_schedule_option(ForeignFile& file, const std::string& key, const Config& value,
                          const std::string& ours) {
  const std::string path = "scheduler.params." + key;
  const bool is_auto = value.is_scalar() && value.text() == "auto";
  if (is_auto && key == "total_num_steps") return set_total_steps(file, value);
  if (is_auto && key == "warmup_num_steps") return set_warmup_steps(file, value);
  if (is_auto || value.is_null() || key == "last_batch_iteration") return;
  if (key == "cycle_momentum") return;  // read_scheduler asked for it
  if (is_of_momentum(key) || key == "decay_mom_rate") {
    return file.no_effect(path, value, "the momentum stays");
  }
  const bool has_ratios = ours == "warmup_cosine_lr";
  if (has_ratios && key == "warmup_min_lr" && value.is_scalar() &&
      read_number<double>(value.text()) == 0.0) {
    return;  // cosine begins at 0
  }
  if (has_ratios && key == "warmup_max_lr") {  // the optimizer's rate is the highest one
    return file.set("model.optimizer.lr", value, value);
  }
  file.set(kSchedule + key, value, value);
}

}  // namespace

void finish_scheduler(ForeignFile& file) {
  const Config* const type = file.find("scheduler.type");
  const Config* const params = file.find("scheduler.params");
  const bool has_type = type != nullptr && !type->is_null() && type->text() != "auto";
  if (has_type || params == nullptr || !is_switched_on(*params)) return;
  file.no_effect("scheduler.params", *params, "the file names no schedule; write scheduler.type");
}

void read_scheduler(ForeignFile& file, const Config& value) {
  std::vector<std::string> known;
  std::string name;
  for (const DeepSpeedSchedule& schedule : kSchedules) {
    known.emplace_back(schedule.theirs);
    if (schedule.theirs == value.text()) name = schedule.ours;
  }
  if (name.empty()) {
    return file.findings.add(choice_error(file.path_of("scheduler.type"), value, known));
  }
  const Config* const momentum = file.find("scheduler.params.cycle_momentum");
  if (name == "one_cycle_lr" && (momentum == nullptr || is_switched_on(*momentum))) {
    return file.refuse("scheduler.type", value,
                       "the momentum is not changed here; write cycle_momentum: false in params");
  }
  file.set("model.lr_scheduler.name", name, value);
  const Config* const params = file.find("scheduler.params");
  const bool is_another = file.config.find_path("model.lr_scheduler.name")->text() != name;
  if (is_another || params == nullptr) return;  // the name is a finding already
  for (const auto& [key, option] : params->entries()) {
    read_schedule_option(file, key, option, name);
  }
  if (value.text() == "cosine" || value.text() == "linear") {
    finish_transformers_schedule(file, value);
  } else if (name == "warmup_decay_lr" && params->find("warmup_max_lr") == nullptr) {
    file.set_default("model.lr_scheduler.warmup_max_lr", "0.001", value);  // DeepSpeed's default
  }
}

}  // namespace s2s::interop
