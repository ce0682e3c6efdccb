// Reads and writes LoRA adapters in the format of Hugging Face PEFT.

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/atomic_file.h"
#include "config/config_tree.h"
#include "nn/lora.h"
#include "s2s/nn/weights.h"
#include "weights/adapter_keys.h"
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

/// rank_pattern or alpha_pattern as JSON; {} for none.
nlohmann::ordered_json pattern_json(const Config& pattern) {
  return pattern.is_map() ? config_json(pattern) : nlohmann::ordered_json::object();
}

/// The keys with which an adapter's numbers change, as model.lora has them.
nlohmann::ordered_json options_json(const LoraOptions& options) {
  return {{"r", options.r},
          {"lora_alpha", options.lora_alpha},
          {"use_rslora", options.use_rslora},
          {"rank_pattern", pattern_json(options.rank_pattern)},
          {"alpha_pattern", pattern_json(options.alpha_pattern)}};
}

bool is_same_json(const nlohmann::ordered_json& theirs, const nlohmann::ordered_json& ours) {
  if (theirs.is_number() && ours.is_number()) return theirs.get<double>() == ours.get<double>();
  if (!theirs.is_object() || !ours.is_object()) return theirs == ours;
  for (const auto& [key, value] : ours.items()) {
    const auto found = theirs.find(key);
    if (found == theirs.end() || !is_same_json(*found, value)) return false;
  }
  return theirs.size() == ours.size();
}

/// Which layers have adapters is not compared: their tensors say it.
void check_config(const std::string& place, const LoraOptions& options) {
  const nlohmann::ordered_json adapter = read_json_file(place);
  if (!adapter.is_object()) throw adapter_key_error(place, "", adapter.type_name(), "an object");
  Findings findings = refused_adapter_keys(place, adapter);
  const nlohmann::ordered_json all = options_json(options);
  for (const auto& [key, ours] : all.items()) {
    const auto found = adapter.find(key);
    const bool is_absent = found == adapter.end() || found->is_null();
    const bool is_default = is_absent && !ours.is_number() && (ours == false || ours.empty());
    if (is_default || (!is_absent && is_same_json(*found, ours))) continue;
    const bool is_number = !is_absent && (found->is_number() || !ours.is_number());
    findings.add(adapter_key_error(place, key, is_number ? found->dump() : "not a number",
                                   ours.is_number()
                                       ? fmt::format("{:g}, as in model.lora", ours.get<double>())
                                       : ours.dump() + ", as in model.lora"));
  }
  findings.throw_if_any();
}

/// The ranks of adapters that differ from r (joined_lora_tensors). The scale stays alpha / r. If
/// all modules with the same last segment have one rank, that segment names them all.
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
    const auto whole = static_cast<double>(rank);
    const double divisor = options.use_rslora ? std::sqrt(whole) : whole;
    adapter["alpha_pattern"][key] = options.scale(options.r, options.lora_alpha) * divisor;
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
  if (options.target_modules == std::vector<std::string>{"all-linear"}) {
    adapter["target_modules"] = "all-linear";
  }
  if (options.target_pattern) adapter["target_modules"] = *options.target_pattern;
  if (!options.exclude_modules.empty()) adapter["exclude_modules"] = options.exclude_modules;
  if (options.exclude_pattern) adapter["exclude_modules"] = *options.exclude_pattern;
  if (!options.layers_to_transform.empty()) {
    adapter["layers_to_transform"] = options.layers_to_transform;
  }
  if (!options.layers_pattern.empty()) adapter["layers_pattern"] = options.layers_pattern;
  adapter["use_rslora"] = options.use_rslora;
  adapter["rank_pattern"] = pattern_json(options.rank_pattern);
  adapter["alpha_pattern"] = pattern_json(options.alpha_pattern);
  if (!options.has_patterns()) add_patterns(tensors, options, adapter);
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
