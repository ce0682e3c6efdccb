// Reads and writes LoRA adapters in the format of Hugging Face PEFT.

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/atomic_file.h"
#include "nn/lora.h"
#include "s2s/nn/weights.h"
#include "weights/json_file.h"
#include "weights/safetensors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTensors = "adapter_model.safetensors";
constexpr const char* kConfig = "adapter_config.json";

constexpr const char* kAdapterMark = ".lora_";
const std::string kAdapterPrefix = "base_model.model.";

/// Returns the parameters of the adapters by their PEFT names.
std::vector<NamedTensor> adapter_parameters(Block& root, const NameMap& names) {
  std::vector<NamedTensor> found;
  for (NamedTensor& parameter : root.named_parameters()) {
    const size_t at = parameter.name.rfind(kAdapterMark);
    if (at == std::string::npos) continue;
    const auto theirs = names.to_theirs(parameter.name.substr(0, at) + ".weight");
    S2S_ASSERT(theirs.has_value(), "a name map names every parameter");
    const std::string module = theirs->substr(0, theirs->rfind('.'));
    parameter.name = kAdapterPrefix + module + parameter.name.substr(at);
    found.push_back(std::move(parameter));
  }
  return found;
}

Error adapter_error(const std::string& place, const std::string& key, const std::string& value,
                    const std::string& expected) {
  return {ExitCode::kConfig, "lora/adapter",
          fmt::format("{}: '{}' is {}, expected {}", place, key, value, expected)};
}

/// Checks keys of PEFT's LoraConfig that change the results and are not implemented. Each must have
/// this value.
void check_neutral(const std::string& place, const nlohmann::ordered_json& adapter) {
  const std::pair<const char*, const char*> neutral[] = {
      {"peft_type", "\"LORA\""}, {"bias", "\"none\""},        {"fan_in_fan_out", "false"},
      {"use_rslora", "false"},   {"use_dora", "false"},       {"rank_pattern", "{}"},
      {"alpha_pattern", "{}"},   {"modules_to_save", "null"}, {"lora_bias", "false"},
  };
  for (const auto& [key, text] : neutral) {
    if (!adapter.contains(key) || adapter[key].is_null() || adapter[key].dump() == text) continue;
    throw adapter_error(place, key, adapter[key].dump(),
                        std::string(text) + " (anything else is not implemented)");
  }
}

void check_config(const std::string& place, const LoraOptions& options) {
  const nlohmann::ordered_json adapter = read_json_file(place);
  if (!adapter.is_object()) throw adapter_error(place, "", adapter.type_name(), "an object");
  check_neutral(place, adapter);
  const auto same = [&](const char* key, double ours) {
    const bool is_number = adapter.contains(key) && adapter[key].is_number();
    if (is_number && adapter[key].get<double>() == ours) return;
    throw adapter_error(place, key, is_number ? adapter[key].dump() : "not a number",
                        fmt::format("{:g}, as in model.lora", ours));
  };
  same("r", static_cast<double>(options.r));
  same("lora_alpha", options.lora_alpha);
}

/// The ranks of adapters that have another than r (joined_lora_tensors). The scale stays alpha / r.
/// The last segment of a module stands for all modules that end in it, if they have one rank.
void add_patterns(const TensorMap& tensors, const LoraOptions& options,
                  nlohmann::ordered_json& adapter) {
  std::map<std::string, int64_t> modules;
  std::map<std::string, std::set<int64_t>> ranks;  // by last segment
  const auto last = [](const std::string& module) { return module.substr(module.rfind('.') + 1); };
  for (const auto& [name, tensor] : tensors) {
    const size_t end = name.rfind(".lora_A.");
    if (end == std::string::npos) continue;
    const std::string module = name.substr(kAdapterPrefix.size(), end - kAdapterPrefix.size());
    modules[module] = tensor.size(0);
    ranks[last(module)].insert(tensor.size(0));
  }
  for (const auto& [module, rank] : modules) {
    if (rank == options.r) continue;
    const std::string key = ranks[last(module)].size() == 1 ? last(module) : module;
    adapter["rank_pattern"][key] = rank;
    adapter["alpha_pattern"][key] = options.scale() * static_cast<double>(rank);
  }
}

}  // namespace

TensorMap lora_tensors(Block& root, const NameMap& names) {
  TensorMap tensors;
  for (const NamedTensor& parameter : adapter_parameters(root, names)) {
    tensors[parameter.name] = parameter.tensor->detach();
  }
  return tensors;
}

void write_adapter(const std::string& folder, const TensorMap& tensors, const LoraOptions& options,
                   const std::string& base_model) {
  nlohmann::ordered_json adapter = {{"peft_type", "LORA"},
                                    {"task_type", options.task_type},
                                    {"base_model_name_or_path", nullptr},
                                    {"inference_mode", true},
                                    {"r", options.r},
                                    {"lora_alpha", options.lora_alpha},
                                    {"lora_dropout", options.lora_dropout},
                                    {"target_modules", options.targets()},
                                    {"bias", "none"},
                                    {"fan_in_fan_out", false},
                                    {"modules_to_save", nullptr}};
  if (!base_model.empty()) adapter["base_model_name_or_path"] = base_model;
  add_patterns(tensors, options, adapter);
  if (options.target_modules == std::vector<std::string>{"all-linear"}) {
    adapter["target_modules"] = "all-linear";
  }
  std::error_code ignored;
  fs::create_directories(folder, ignored);  // writing the file will report the error
  write_safetensors((fs::path(folder) / kTensors).string(), tensors, {{"format", "pt"}});
  write_file_atomically((fs::path(folder) / kConfig).string(), adapter.dump(2) + "\n");
}

std::unique_ptr<WeightSource> stored_adapter(const std::string& folder, Block& root,
                                             const NameMap& names, const LoraOptions& options) {
  check_config((fs::path(folder) / kConfig).string(), options);
  const NameMap as_is{{{"**", "**"}}, {}};
  return weight_source(adapter_parameters(root, names), as_is,
                       WeightFiles::open((fs::path(folder) / kTensors).string()));
}

}  // namespace s2s
