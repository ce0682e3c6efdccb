// Translates fractions of an epoch. Source: lightning/pytorch/loops/fit_loop.py, setup_data.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "config/config_errors.h"
#include "lightning/lightning.h"

namespace s2s::interop {
namespace {

/// The value of a plain `0.5` or `1.0`. Nothing for integers, texts and a missing key.
std::optional<double> fraction_at(const Config* node) {
  if (node == nullptr || !node->is_scalar()) return std::nullopt;
  if (read_number<int64_t>(node->text())) return std::nullopt;
  return read_number<double>(node->text());
}

int64_t count_at(const Config& trainer, const char* key) {
  const Config* const node = trainer.find(key);
  if (node == nullptr || !node->is_scalar()) return 0;
  return read_number<int64_t>(node->text()).value_or(0);
}

void set_number(Config& trainer, const char* key, int64_t value) {
  Config node = Config::scalar(std::to_string(value));
  node.set_origin(trainer.find(key)->origin());
  trainer[key] = std::move(node);
}

/// Drops a whole epoch, which is the default.
void drop_whole(Config& trainer, const std::string& key, const char* meaning, ConfigNotes& notes) {
  const Config* const node = trainer.find(key);
  if (fraction_at(node) != 1.0) return;
  notes.others.push_back(config_place("trainer." + key, *node) + ": " + meaning);
  trainer.erase(key);
}

/// Drops Lightning's value that switches validations off.
void drop_validations(Config& trainer, ConfigNotes& notes) {
  const char* const key = "limit_val_batches";
  const Config* const node = trainer.find(key);
  if (node == nullptr || !node->is_scalar() || read_number<double>(node->text()) != 0.0) return;
  notes.others.push_back(config_place(std::string("trainer.") + key, *node) +
                         ": no validations while training");
  trainer.erase(key);
  trainer.erase("val_check_interval");
}

/// Drops Lightning's default, once per epoch, if there are no epochs. Returns true if it did.
bool drop_default_interval(Config& trainer, ConfigNotes& notes) {
  const char* const key = "val_check_interval";
  const Config* const node = trainer.find(key);
  if (fraction_at(node) != 1.0 || count_at(trainer, "limit_train_batches") > 0) return false;
  notes.warnings.push_back(config_place(std::string("trainer.") + key, *node) +
                           ": there are no epochs here, so that the run has no validations; write "
                           "a number of optimizer steps, or trainer.limit_train_batches: BATCHES");
  trainer.erase(key);
  return true;
}

void translate_interval(Config& trainer, Findings& findings, ConfigNotes& notes) {
  const char* const key = "val_check_interval";
  const std::string path = std::string("trainer.") + key;
  const Config* const node = trainer.find(key);
  const std::optional<double> part = fraction_at(node);
  if (!part) return;
  const int64_t batches = count_at(trainer, "limit_train_batches");
  if (*part <= 0 || *part > 1 || batches == 0) {
    findings.add(type_error(path, *node,
                            "a number of optimizer steps, or with trainer.limit_train_batches: "
                            "BATCHES a part of them above 0 and up to 1.0"));
    set_number(trainer, key, 1);  // already reported
    return;
  }
  const int64_t accumulate = std::max<int64_t>(1, count_at(trainer, "accumulate_grad_batches"));
  const auto taken = static_cast<int64_t>(std::floor(static_cast<double>(batches) * *part));
  const int64_t steps = std::max<int64_t>(1, (taken + accumulate - 1) / accumulate);
  notes.others.push_back(fmt::format("{}: {} of limit_train_batches ({}): every {} optimizer steps",
                                     config_place(path, *node), node->text(), batches, steps));
  set_number(trainer, key, steps);
}

}  // namespace

void translate_epochs(Config& config, Findings& findings, ConfigNotes& notes) {
  Config* const trainer = config.find("trainer");
  if (trainer == nullptr || !trainer->is_map()) return;
  drop_whole(*trainer, "limit_train_batches", "read as null, there are no pseudo epochs", notes);
  drop_whole(*trainer, "limit_val_batches", "read as null, all batches", notes);
  drop_validations(*trainer, notes);
  if (!drop_default_interval(*trainer, notes)) translate_interval(*trainer, findings, notes);
}

}  // namespace s2s::interop
