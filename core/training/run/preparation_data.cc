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

/// True if a file of the set is in `folder`.
bool lies_in(const Config& block, const std::string& folder) {
  const fs::path place = fs::path(folder).lexically_normal();
  return has_scalar(block, [&](const std::string& text) {
    const fs::path relative = fs::path(text).lexically_normal().lexically_relative(place);
    return !relative.empty() && *relative.begin() != "..";
  });
}

/// True if a check can open the set. If not, opens the existing files of the set. A check runs no
/// commands.
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

/// True if a training reads its validation sets.
bool is_validated(const RunOptions& settings) {
  return settings.trainer.num_sanity_val_steps != 0 || settings.trainer.val_check_interval;
}

/// Opens a validation set, which later validations read from its beginning. A check also makes as
/// many batches as the sanity check of a training, at least one. Returns false if the set cannot be
/// opened yet.
bool open_set(Preparation& preparation, const std::string& name, const Config& block) {
  PreparedRun& run = preparation.run;
  const bool checks = preparation.checks();
  if (checks && !is_open_to_check(preparation, "data.validation_ds.datasets." + name, block)) {
    return false;
  }
  DataShare share;
  if (const auto& strategy = run.parts.strategy) {
    share = {strategy->data_rank(), strategy->mesh().data_size()};
  }
  const std::shared_ptr<DataSource> source = run.sets.at(name)(share);
  const int64_t wanted = std::max<int64_t>(1, preparation.settings().trainer.num_sanity_val_steps);
  for (int64_t made = 0; checks && made < wanted && source->next(); ++made) {
  }
  return true;
}

/// Creates the metrics of answers. A check that could not open all sets creates only the scorer.
void make_scorer(Preparation& preparation, bool has_texts) {
  PreparedRun& run = preparation.run;
  run.scorer = has_texts
                   ? prepared_scorer(preparation.builder(), run.parts.tokenizer.get(), run.sets)
                   : preparation.builder().scorer();
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
  const RunOptions& settings = preparation.settings();
  run.sets = preparation.builder().validation_sources(run.parts.tokenizer.get());
  if (run.sets.empty()) return true;
  bool are_open = true;
  if (is_validated(settings)) {
    for (const auto& [name, block] : settings.validation_sets) {
      bool is_open = false;
      preparation.attempt(
          [&, &name = name, &block = block] { is_open = open_set(preparation, name, block); });
      are_open = are_open && is_open;
    }
  }
  if (answered_batches(settings, run.metrics)) {
    const bool has_texts = !preparation.checks() || (are_open && preparation.has(kTrainData));
    preparation.attempt([&] { make_scorer(preparation, has_texts); });
  }
  if (!preparation.checks() && run.begin.steps_done == 0) {
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
