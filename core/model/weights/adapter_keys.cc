#include "weights/adapter_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace s2s {
namespace {

/// Of peft 0.18's LoraConfig: what add_lora computes with.
constexpr std::array<std::string_view, 10> kOptions = {"r",
                                                       "lora_alpha",
                                                       "target_modules",
                                                       "exclude_modules",
                                                       "use_rslora",
                                                       "lora_dropout",
                                                       "rank_pattern",
                                                       "alpha_pattern",
                                                       "layers_to_transform",
                                                       "layers_pattern"};

/// What says where an adapter comes from, what only its initial values or another key's function
/// need, and fan_in_fan_out, which PEFT itself sets to false for linear layers.
constexpr std::array<std::string_view, 16> kNoEffect = {
    "task_type",      "auto_mapping",      "base_model_name_or_path",
    "revision",       "peft_version",      "inference_mode",
    "fan_in_fan_out", "megatron_core",     "loftq_config",
    "eva_config",     "corda_config",      "lora_ga_config",
    "runtime_config", "qalora_group_size", "ensure_weight_tying",
    "_comment"};

/// Those that draw other initial values and leave the weights of the model as they are.
bool is_harmless_start(const nlohmann::ordered_json& value) {
  if (value.is_null() || value.is_boolean()) return true;
  if (!value.is_string()) return false;
  const auto& name = value.get_ref<const std::string&>();
  return name == "gaussian" || name == "orthogonal" || name == "eva";
}

const char* expected_of(const std::string& key) {
  if (key == "peft_type") return "\"LORA\"";
  if (key == "bias") return "\"none\"";
  if (key == "init_lora_weights") {
    return "true: other starts change the weights of the model; save the adapter with "
           "path_initial_model_for_weight_conversion";
  }
  return "null or false";
}

}  // namespace

AdapterKeyUse adapter_key_use(std::string_view key) {
  const auto is_in = [&](const auto& list) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  if (is_in(kOptions)) return AdapterKeyUse::kOption;
  return is_in(kNoEffect) ? AdapterKeyUse::kNoEffect : AdapterKeyUse::kOnlyOff;
}

bool is_off_in_adapter(std::string_view key, const nlohmann::ordered_json& value) {
  if (key == "init_lora_weights") return is_harmless_start(value);
  if (key == "peft_type") return value == "LORA";
  if (key == "bias" && value == "none") return true;
  return value.is_null() || value == false || (value.is_structured() && value.empty()) ||
         value == "";
}

Findings refused_adapter_keys(const std::string& place, const nlohmann::ordered_json& adapter) {
  Findings refused;
  for (const auto& [key, value] : adapter.items()) {
    if (adapter_key_use(key) != AdapterKeyUse::kOnlyOff || is_off_in_adapter(key, value)) continue;
    refused.add(adapter_key_error(
        place, key, value.dump(),
        std::string(expected_of(key)) + " (anything else changes results and is not implemented)"));
  }
  return refused;
}

Error adapter_key_error(const std::string& place, const std::string& key, const std::string& value,
                        const std::string& expected) {
  constexpr size_t kMostShown = 80;
  const std::string shown =
      value.size() <= kMostShown ? value : value.substr(0, kMostShown) + "...";
  return {ExitCode::kConfig, "lora/adapter",
          fmt::format("{}: '{}' is {}, expected {}", place, key, shown, expected)};
}

}  // namespace s2s
