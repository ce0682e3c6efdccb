// The block `optimizer` of DeepSpeed's files.

#include <array>

#include "base/number_text.h"
#include "base/text.h"
#include "config/yaml_reader.h"
#include "deepspeed/deepspeed_values.h"

namespace s2s::interop {
namespace {

struct Default {
  const char *key, *value;
};

/// An optimizer of DeepSpeed, the name of ours, and DeepSpeed's defaults.
struct DeepSpeedOptimizer {
  std::string_view theirs;
  const char* ours;
  std::array<Default, 3> defaults;
};
constexpr std::array<Default, 3> kAdamDefaults = {
    Default{"lr", "0.001"}, Default{"betas", "[0.9, 0.999]"}, Default{"weight_decay", "0.0"}};
constexpr std::array<Default, 3> kLionDefaults = {
    Default{"lr", "0.001"}, Default{"betas", "[0.9, 0.99]"}, Default{"weight_decay", "0.0"}};
constexpr std::array kOptimizers = {
    DeepSpeedOptimizer{"adam", "adamw", kAdamDefaults},
    DeepSpeedOptimizer{"adamw", "adamw", kAdamDefaults},
    DeepSpeedOptimizer{"sgd", "sgd", {Default{"lr", "0.001"}}},
    DeepSpeedOptimizer{"lion", "lion", kLionDefaults},
    DeepSpeedOptimizer{
        "muon",
        "muon",
        {Default{"lr", "0.02"}, Default{"weight_decay", "0.0"}, Default{"adamw_eps", "1e-10"}}},
};

const DeepSpeedOptimizer* optimizer_of(const ForeignFile& file) {
  const Config* const type = file.find("optimizer.type");
  if (type == nullptr || !type->is_scalar()) return nullptr;
  for (const DeepSpeedOptimizer& one : kOptimizers) {
    if (one.theirs == lower(type->text())) return &one;
  }
  return nullptr;
}

bool is_muon(const ForeignFile& file) {
  const DeepSpeedOptimizer* const found = optimizer_of(file);
  return found != nullptr && found->theirs == "muon";
}

bool is_given(const ForeignFile& file, const std::string& key) {
  const Config* const found = file.find("optimizer.params." + key);
  return found != nullptr && found->is_scalar() && found->text() != "auto";
}

/// Without a scheduler, DeepSpeed keeps the optimizer's rate.
void keep_rate(ForeignFile& file) {
  const char* const key = is_given(file, "muon_lr") ? "muon_lr" : "lr";
  if (!is_given(file, key) || file.find("scheduler") != nullptr ||
      file.config.find_path("model.lr_scheduler") != nullptr) {
    return;
  }
  const Config rate = *file.find("optimizer.params." + std::string(key));
  file.set_default("model.lr_scheduler.name", "warmup_lr", rate);
  file.set_default("model.lr_scheduler.warmup_min_lr", rate.text(), rate);
}

}  // namespace

void read_optimizer(ForeignFile& file, const Config& value) {
  if (const DeepSpeedOptimizer* const found = optimizer_of(file)) {
    keep_rate(file);
    return file.set("model.optimizer.name", found->ours, value);
  }
  if (lower(value.text()) == "adafactor") {
    return file.refuse("optimizer.type", value,
                       "DeepSpeed takes torch.optim.Adafactor, whose updates are others than those "
                       "of adafactor here (transformers); remove the block, and write "
                       "model.optimizer: {name: adafactor}");
  }
  file.refuse("optimizer.type", value,
              "expected Adam, AdamW, SGD, Lion or Muon; remove the block, and name an optimizer of "
              "s2s-run plugin list --kind optimizer in model.optimizer");
}

void read_adam_w_mode(ForeignFile& file, const Config& value) {
  const Config* const decay = file.find("optimizer.params.weight_decay");
  const bool has_decay =
      decay != nullptr && decay->is_scalar() && read_number<double>(decay->text()).value_or(0) != 0;
  if (is_switched_on(value) || !has_decay) return;
  file.refuse("optimizer.params.adam_w_mode", value,
              "weight decay as a part of the gradient is not implemented; write true, or "
              "weight_decay: 0");
}

/// With muon_lr, `lr` is the rate of Muon's AdamW, unless adam_lr is given, too.
void read_optimizer_rate(ForeignFile& file, const Config& value) {
  if (!is_muon(file) || !is_given(file, "muon_lr")) {
    return file.set("model.optimizer.lr", value, value);
  }
  if (!is_given(file, "adam_lr")) file.set("model.optimizer.adamw_lr", value, value);
}

void read_optimizer_betas(ForeignFile& file, const Config& value) {
  file.set(is_muon(file) ? "model.optimizer.adamw_betas" : "model.optimizer.betas", value, value);
}

void read_optimizer_eps(ForeignFile& file, const Config& value) {
  file.set(is_muon(file) ? "model.optimizer.adamw_eps" : "model.optimizer.eps", value, value);
}

void finish_optimizer(ForeignFile& file) {
  const DeepSpeedOptimizer* const found = optimizer_of(file);
  const Config* const name = file.config.find_path("model.optimizer.name");
  if (found == nullptr || name == nullptr || name->text() != found->ours) return;
  const Config* const type = file.find("optimizer.type");
  for (const auto& [key, value] : found->defaults) {
    if (key == nullptr || file.find("optimizer.params." + std::string(key)) != nullptr) continue;
    const std::string path = "model.optimizer." + std::string(key);
    const Config* const ours = file.config.find_path(path);
    if (ours == nullptr || ours->is_null()) {
      file.set(path, parse_yaml_value(value, type->origin()), *type);
    }
  }
}

}  // namespace s2s::interop
