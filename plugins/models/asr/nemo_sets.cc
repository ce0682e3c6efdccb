#include "nemo_sets.h"

#include <array>
#include <string>

namespace s2s::asr {
namespace {

constexpr std::array kSetKeys = {
    no_effect("is_tarred", "tarred_audio_filepaths says it"),
    no_effect("bucketing_strategy",
              "there are no tarred buckets: use_bucketing makes batches of "
              "similar lengths"),
    no_effect("use_start_end_token", "this is the default", "false"),
    no_effect("trim_silence", "this is the default", "false"),
    no_effect("defer_setup", "data is opened when a run begins"),
    no_effect("return_sample_id", "answers name their cuts"),
};

/// The class's name and ours.
struct Schedule {
  const char* theirs;
  const char* ours;
};
constexpr std::array kSchedules = {
    Schedule{"CosineAnnealing", "cosine_annealing"},
    Schedule{"InverseSquareRootAnnealing", "inverse_square_root_annealing"},
    Schedule{"NoamAnnealing", "noam_annealing"},
};

/// A block whose keys without a value are left out.
Config with_values(const Config& block) {
  Config out = Config::map();
  out.set_origin(block.origin());
  for (const auto& [key, value] : block.entries()) {
    if (!value.is_null()) out[key] = value;
  }
  return out;
}

/// `block` with the keys of `over`, which are of our own blocks and count before NeMo's.
Config overlaid(Config block, const Config& over) {
  if (!block.is_map() || !over.is_map()) return over;
  for (const auto& [key, value] : over.entries()) {
    const Config* const below = block.find(key);
    block[key] = below == nullptr ? value : overlaid(*below, value);
  }
  return block;
}

bool has_data(const Config& block) {
  for (const char* key : {"manifest_filepath", "input_cfg", "cuts_path", "shar_path", "datasets"}) {
    if (block.find(key) != nullptr) return true;
  }
  return false;
}

/// The set at `key`, for our data source.
Config set_of(ConfigTranslation& translation, const std::string& key) {
  const Config* const found = translation.config.find_path(key);
  if (found == nullptr || !found->is_map()) return {};
  Config set = with_values(*found);
  translation.erase(key);
  for (const ForeignKey& row : kSetKeys) {
    const std::string name(row.key);
    const Config* const value = set.find(name);
    if (value == nullptr || !is_about(row, *value)) continue;
    translation.note_no_effect(key + "." + name, *value, row.says);
    set.erase(name);
  }
  if (const Config* const size = set.find("shuffle_n")) {
    const bool is_tarred = set.find("tarred_audio_filepaths") != nullptr;
    const Config value = *size;
    set.erase("shuffle_n");
    if (is_tarred) {
      set["shuffle_buffer_size"] = value;
      translation.note_read(key + ".shuffle_n", value, "shuffle_buffer_size");
    } else {
      translation.note_no_effect(key + ".shuffle_n", value, "manifests are shuffled whole");
    }
  }
  if (!has_data(set)) return {};
  if (set.find("name") == nullptr) set["name"] = Config::scalar("transcribed_cuts", true);
  return set;
}

/// A set for each manifest of a list.
Config sets_of(const Config& set) {
  if (const Config* const sets = set.find("datasets")) {
    Config own = *sets;
    for (auto& [name, one] : own.entries()) {
      if (one.is_map() && one.find("name") == nullptr) {
        one["name"] = Config::scalar("transcribed_cuts", true);
      }
    }
    return own;
  }
  Config sets = Config::map();
  const Config* const manifests = set.find("manifest_filepath");
  if (manifests == nullptr || !manifests->is_list()) {
    sets["validation"] = set;
    return sets;
  }
  for (size_t i = 0; i < manifests->items().size(); ++i) {
    Config one = set;
    one["manifest_filepath"] = manifests->items()[i];
    sets["validation_" + std::to_string(i)] = std::move(one);
  }
  return sets;
}

}  // namespace

void read_sets(ConfigTranslation& translation) {
  const auto set_below = [&](const std::string& ours, const Config& theirs) {
    const Config* const written = translation.config.find_path(ours);
    translation.set(ours, written == nullptr ? theirs : overlaid(theirs, *written));
  };
  const Config train = set_of(translation, "model.train_ds");
  if (!train.is_null()) set_below("data.train_ds", train);
  const Config validation = set_of(translation, "model.validation_ds");
  if (!validation.is_null()) set_below("data.validation_ds.datasets", sets_of(validation));
}

void read_optimizer(ConfigTranslation& translation) {
  const Config* const found = translation.config.find_path("model.optim");
  if (found == nullptr || !found->is_map()) return;
  Config optimizer = with_values(*found);
  const Config* const sched = optimizer.find("sched");
  Config schedule = sched == nullptr || !sched->is_map() ? Config() : with_values(*sched);
  optimizer.erase("sched");
  translation.erase("model.optim");
  translation.note_read("model.optim", optimizer, "model.optimizer");
  translation.set("model.optimizer", optimizer);
  if (schedule.is_null()) return;
  translation.note_read("model.optim.sched", schedule, "model.lr_scheduler");
  if (const Config* const name = schedule.find("name")) {
    const Config theirs = *name;
    for (const Schedule& one : kSchedules) {
      if (theirs.text() != one.theirs) continue;
      schedule["name"] = Config::scalar(one.ours);
      schedule["name"].set_origin(theirs.origin());
    }
  }
  // NeMo takes the length of the run.
  const Config* const steps = translation.config.find_path("trainer.max_steps");
  if (schedule.find("max_steps") == nullptr && steps != nullptr) schedule["max_steps"] = *steps;
  translation.set("model.lr_scheduler", schedule);
}

}  // namespace s2s::asr
