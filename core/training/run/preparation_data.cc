// Steps of a preparation: data sets, metrics and scorer.

#include <algorithm>
#include <filesystem>

#include "config/config_tree.h"
#include "eval/metrics/monitored_metric.h"
#include "run/preparation_steps.h"
#include "run/training_validation.h"
#include "train/train_errors.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

template <class Test>
bool has_scalar(const Config& node, const Test& test) {
  if (node.is_scalar()) return test(node.text());
  return std::any_of(node.items().begin(), node.items().end(),
                     [&](const Config& item) { return has_scalar(item, test); }) ||
         std::any_of(node.entries().begin(), node.entries().end(),
                     [&](const auto& entry) { return has_scalar(entry.second, test); });
}

bool has_commands(const Config& block) {
  return has_scalar(
      block, [](const std::string& text) { return text == "command" || text.find("pipe:") == 0; });
}

/// Whether a file of the set lies in `folder`.
bool lies_in(const Config& block, const std::string& folder) {
  const fs::path place = fs::path(folder).lexically_normal();
  return has_scalar(block, [&](const std::string& text) {
    const fs::path relative = fs::path(text).lexically_normal().lexically_relative(place);
    return !relative.empty() && *relative.begin() != "..";
  });
}

/// Whether a check can open a set. If it cannot, opens the files of the set if they are there. A
/// check runs no commands.
bool is_open_to_check(const Preparation& preparation, const std::string& path,
                      const Config& block) {
  const Run& setup = preparation.run.setup;
  const std::string to_make = data_to_make(setup);
  if (!to_make.empty() && lies_in(block, to_make)) return false;
  const bool runs = has_commands(block);
  const Config* const allowed = setup.config().find_path("data.allow_commands");
  if (runs || (allowed != nullptr && allowed->is_scalar() && allowed->text() == "true")) {
    preparation.check->notes.push_back(
        path + ": it may run shell commands, which a check does not; its batches are not checked");
  } else if (preparation.has(kTokenizer)) {
    return true;
  }
  const auto& open_files = setup.program().open_files;
  if (!runs && open_files) open_files(path, block);
  return false;
}

/// Whether a training reads its validation sets at all.
bool is_validated(const RunOptions& settings) {
  return settings.trainer.num_sanity_val_steps != 0 || settings.trainer.val_check_interval;
}

/// Opens the sets one after another, and makes as many batches of each as the sanity check of a
/// training validates, at least one.
void check_validation_sets(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  const RunOptions& settings = preparation.settings();
  DataShare share;
  if (const auto& strategy = run.parts.strategy) {
    share = {strategy->data_rank(), strategy->mesh().data_size()};
  }
  const int64_t asked = settings.trainer.num_sanity_val_steps;
  bool are_open = true;
  for (const auto& [name, block] : settings.validation_sets) {
    const std::string path = "data.validation_ds.datasets." + name;
    bool is_open = false;
    preparation.attempt([&, &name = name, &block = block] {
      if (!is_open_to_check(preparation, path, block)) return;
      const std::shared_ptr<DataSource> source = run.sets.at(name)(share);
      int64_t made = 0;
      do {
        if (!source->next()) break;
      } while (++made < asked);
      is_open = true;
    });
    are_open = are_open && is_open;
  }
  if (!answered_batches(settings)) return;
  preparation.attempt([&] { preparation.builder().metrics(); });
  preparation.attempt([&] {
    const Tokenizer* const tokenizer = run.parts.tokenizer.get();
    run.scorer = are_open && preparation.has(kTrainData)
                     ? prepared_scorer(preparation.builder(), tokenizer, run.sets)
                     : preparation.builder().scorer();
  });
}

}  // namespace

std::string data_to_make(const Run& setup) {
  const auto& folder = setup.program().data_to_make;
  return folder ? folder(setup.config()) : "";
}

bool open_training_data(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  const RunBuilder& builder = preparation.builder();
  if (preparation.checks() && !is_open_to_check(preparation, "data.train_ds",
                                                *run.setup.config().find_path("data.train_ds"))) {
    return false;
  }
  const Tokenizer* const tokenizer = run.parts.tokenizer.get();
  run.parts.data = run.parts.strategy == nullptr
                       ? builder.all_train_data(tokenizer)
                       : builder.train_source(tokenizer, *run.parts.strategy);
  return run.parts.data != nullptr;
}

bool open_validation(Preparation& preparation) {
  PreparedRun& run = preparation.run;
  const RunBuilder& builder = preparation.builder();
  run.sets = builder.validation_sources(run.parts.tokenizer.get());
  if (run.sets.empty()) return true;
  if (preparation.checks()) {
    if (is_validated(preparation.settings())) check_validation_sets(preparation);
    return true;
  }
  if (answered_batches(preparation.settings())) {
    run.scorer = prepared_scorer(builder, run.parts.tokenizer.get(), run.sets);
  }
  if (run.begin.steps_done == 0) {
    check_validation(run.open(), run.parts, run.sets, run.scorer.get());
  }
  return true;
}

/// In training, the first step takes it.
bool take_first_batch(Preparation& preparation) {
  if (!preparation.checks()) return true;
  if (!preparation.run.parts.data->next()) {
    throw_data_exhausted(0, preparation.settings().trainer.max_steps);
  }
  return true;
}

}  // namespace s2s::run
