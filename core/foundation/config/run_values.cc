#include "config/run_values.h"

#include <algorithm>

#include "base/text.h"
#include "config/config_errors.h"
#include "config/interpolation.h"
#include "config/parameter_pattern.h"
#include "config/run_blocks.h"

namespace s2s {

namespace {

bool is_absent(const Config& config, const std::string& path) {
  const Config* node = config.find_path(path);
  return node == nullptr || node->is_null();
}

void need_component(const Config& config, const std::string& path, const char* doc,
                    Findings& findings) {
  if (!is_absent(config, path)) return;
  const Config* parent = config.find_path(path.substr(0, path.rfind('.')));
  findings.add(missing_key_error(path + ".name", parent != nullptr ? *parent : config, doc));
}

/// Adds the errors of `read`, if the value exists.
template <class Read>
void check_value(const Config* node, const Read& read, Findings& findings) {
  if (node == nullptr || !node->is_scalar() || node->is_missing() || is_unresolved(*node)) return;
  try {
    read(*node);
  } catch (const Error& error) {
    findings.add(error);
  }
}

void check_patterns(const Config& config, const std::string& path, const std::string& key,
                    Findings& findings) {
  const Config* list = config.find_path(path);
  if (list == nullptr) return;
  for (size_t i = 0; i < list->items().size(); ++i) {
    const Config& item = list->items()[i];
    const std::string place = path + "." + std::to_string(i) + (key.empty() ? "" : "." + key);
    check_value(
        key.empty() ? &item : item.find(key),
        [&place](const Config& node) { ParameterPattern(node, place); }, findings);
  }
}

/// True if a finding contains the origin of `node`.
bool has_finding(const Config& node, const Findings& findings) {
  const std::string place = "(" + node.origin().text() + ")";
  return std::any_of(
      findings.errors().begin(), findings.errors().end(),
      [&place](const Error& error) { return error.message().find(place) != std::string::npos; });
}

void add_missing(const Config& node, const std::string& path, Findings& findings) {
  if (node.is_missing() && !has_finding(node, findings))
    findings.add(missing_value_error(path, node));
  for (size_t i = 0; i < node.items().size(); ++i) {
    add_missing(node.items()[i], path + "." + std::to_string(i), findings);
  }
  for (const auto& [key, child] : node.entries()) {
    add_missing(child, path.empty() ? key : path + "." + key, findings);
  }
}

/// The last profiled step must not come before the first.
void check_profile(const Config& config, Findings& findings) {
  const std::string place = "trainer.profile.end_step";
  const Config* const begin = config.find_path("trainer.profile.begin_step");
  const bool has_begin = begin != nullptr && begin->is_scalar() && !begin->is_null();
  const auto read = [&](const Config& node) {
    if (!has_begin && !node.is_null()) {
      throw missing_key_error("trainer.profile.begin_step", node, "the first step to profile");
    }
    if (!has_begin || node.is_null() || is_unresolved(*begin)) return;
    const int64_t first = begin->as_int("trainer.profile.begin_step");
    if (node.as_int(place) < first) {
      throw bounds_error(place, node, "at least begin_step, " + std::to_string(first));
    }
  };
  check_value(config.find_path(place), read, findings);
}

}  // namespace

bool uses_kind(RunPurpose purpose, const std::string& kind) {
  if (purpose != RunPurpose::kGenerate && purpose != RunPurpose::kValidate) return true;
  if (contains({"logger", "optimizer", "schedule"}, kind)) return false;
  const bool is_of_sets = contains({"data", "metric", "scorer", "strategy", "communicator"}, kind);
  return purpose == RunPurpose::kValidate || !is_of_sets;
}

std::string left_out_note(const std::string& place, const std::string& kind,
                          const std::string& name) {
  return place + ": there is no " + kind + " '" + name + "' here, and this command needs none";
}

void check_missing(const Config& config, Findings& findings) { add_missing(config, "", findings); }

void check_needs(const Config& config, RunPurpose purpose, Findings& findings) {
  if (purpose == RunPurpose::kTrain) {
    need_component(config, "trainer.strategy", "the parallel strategy", findings);
    need_component(config, "model.optimizer", "the optimizer", findings);
    if (is_absent(config, "data.train_ds")) findings.add(no_datasets_error("data.train_ds"));
  }
  if (purpose == RunPurpose::kValidate) {
    const Config* sets = config.find_path("data.validation_ds.datasets");
    if (sets == nullptr || sets->is_null() || (sets->is_map() && sets->entries().empty())) {
      findings.add(no_datasets_error("data.validation_ds.datasets"));
    }
  }
}

void check_run_values(const Config& config, Findings& findings) {
  for (const char* path : {"exp_manager.explicit_log_dir", "exp_manager.exp_dir"}) {
    check_value(
        config.find_path(path),
        [path](const Config& node) {
          if (node.text().empty()) throw type_error(path, node, "the name of a folder");
        },
        findings);
  }
  for (const char* path : {"exp_manager.max_time_per_run",
                           "exp_manager.checkpoint_callback_params.train_time_interval"}) {
    check_value(
        config.find_path(path), [path](const Config& node) { duration_s(path, node); }, findings);
  }
  check_value(config.find_path("trainer.devices"), num_devices, findings);
  check_profile(config, findings);
  check_patterns(config, "model.freeze_params", "", findings);
  check_patterns(config, "model.prevent_freeze_params", "", findings);
  check_patterns(config, "model.optimizer.lr_scales", "params", findings);
}

}  // namespace s2s
