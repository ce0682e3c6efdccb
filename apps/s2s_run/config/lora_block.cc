// Completes `model.lora`: a block that asks for adapters has them, also without `r`.

#include <filesystem>
#include <string>

#include "config/config_errors.h"
#include "s2s/foreign_text.h"
#include "s2s_run/config/foreign_keys.h"
#include "weights/json_file.h"

namespace s2s::run {
namespace {

/// Of PEFT's LoraConfig.
constexpr int kRankOfPeft = 8;

Error adapter_error(const Config& path, const std::string& problem) {
  return config_error("lora/adapter",
                      config_place("model.lora.path", path) + ": " + config_value(path) + " " +
                          problem +
                          "; expected a folder with PEFT's adapter_config.json; correct "
                          "the path, or remove it for new adapters");
}

void set_value(Config& lora, const char* key, Config value, const std::string& source) {
  if (lora.find(key) != nullptr) return;
  Origin origin;
  origin.source = source;
  value.set_origin(origin);
  for (Config& item : value.items()) item.set_origin(origin);
  lora[key] = std::move(value);
}

/// Values that the block does not have, from the adapter that it names.
void take_from_adapter(Config& lora, const Config& path) {
  const std::string file =
      (std::filesystem::path(path.text()) / "adapter_config.json").lexically_normal().string();
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    throw adapter_error(path, "has no adapter_config.json");
  }
  const nlohmann::ordered_json adapter = read_json_file(file);
  const auto rank = adapter.is_object() ? adapter.find("r") : adapter.end();
  if (rank == adapter.end() || !rank->is_number_integer()) {
    throw adapter_error(path, "has an adapter without the rank 'r'");
  }
  set_value(lora, "r", Config::scalar(rank->dump()), file);
  const auto alpha = adapter.find("lora_alpha");
  if (alpha != adapter.end() && alpha->is_number()) {
    set_value(lora, "lora_alpha", Config::scalar(alpha->dump()), file);
  }
  const auto targets = adapter.find("target_modules");
  if (targets == adapter.end() || !targets->is_array()) return;
  Config list = Config::list();
  for (const auto& target : *targets) {
    if (target.is_string()) {
      list.items().push_back(Config::scalar(target.get<std::string>(), /*quoted=*/true));
    }
  }
  set_value(lora, "target_modules", std::move(list), file);
}

}  // namespace

void complete_lora(Config& config, Findings& findings, ConfigNotes& notes) {
  Config* const model = config.find("model");
  Config* const lora = model == nullptr ? nullptr : model->find("lora");
  if (lora == nullptr || !lora->is_map() || lora->entries().empty()) return;
  const Config* const rank = lora->find("r");
  if (rank != nullptr && !rank->is_null()) return;
  lora->erase("r");
  const Config* const found = lora->find("path");
  try {
    if (found != nullptr && found->is_scalar() && found->text().find("${") == std::string::npos) {
      const Config path = *found;
      take_from_adapter(*lora, path);
      notes.others.push_back("model.lora.r is " + lora->find("r")->text() + ", from " +
                             printable_name(path.text()));
      return;
    }
    set_value(*lora, "r", Config::scalar(std::to_string(kRankOfPeft)), "default of PEFT");
    notes.others.push_back("model.lora.r is 8, PEFT's default; r: 0 turns adapters off");
  } catch (const Error& error) {
    set_value(*lora, "r", Config::scalar(std::to_string(kRankOfPeft)), "default of PEFT");
    findings.add(error);
  }
}

}  // namespace s2s::run
