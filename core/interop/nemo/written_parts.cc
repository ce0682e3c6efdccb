// Writes blocks that several classes of NeMo have.

#include <initializer_list>
#include <string>

#include "s2s/foreign_text.h"
#include "s2s/nemo.h"

namespace s2s::nemo {
namespace {

constexpr const char* kAsr = "nemo.collections.asr.modules.";
constexpr const char* kPerception = "nemo.collections.speechlm2.modules.perception.";

Config target(const char* module, const char* name) {
  return Config::scalar(std::string(module) + name, true);
}

Config conformer(const Config& options) {
  Config out = without_nulls(options);
  out["_target_"] = target(kAsr, "ConformerEncoder");
  return out;
}

Config spec_augment(const Config& options) {
  Config out = options;
  out["_target_"] = target(kAsr, "SpectrogramAugmentation");
  if (const Config* width = options.find("time_width")) {
    out["time_width"] = Config::scalar(width->text());  // a number
  }
  return out;
}

/// Connectors with outputs of the language model's width have no projection.
Config connector(const Config& adapter, const Config& encoder, const Config& width) {
  const std::string type = adapter.find("type")->text();
  const Config& d_model = *encoder.find("d_model");
  const bool projects = adapter.find("project")->text() != "false";
  if (is_set(adapter.find_path("rote.enabled"))) {
    throw_no_export("NeMo 3.0 has no counterpart of model.modality_adapter.rote",
                    "a model without it");
  }
  Config out = Config::map();
  if (type == "identity") {
    out["_target_"] = target(kPerception, "IdentityConnector");
    if (projects) out["d_model"] = d_model;
    return out;
  }
  if (type == "conformer" && projects) return conformer(*adapter.find("conformer"));
  if (type == "multi_layer_projection") {
    out["_target_"] = target(kPerception, "MultiLayerProjectionConnector");
    out["input_dim"] = d_model;
    out["output_dim"] = width;
    for (const char* key : {"target_layer_ids", "include_final_output"}) {
      out[key] = *adapter.find(key);
    }
    return out;
  }
  throw_no_export("model.modality_adapter.type is " + printable(type) +
                      (projects ? "" : " without a projection"),
                  "identity, conformer with its projection, or multi_layer_projection");
}

Config perception(const Config& model, const Config& width) {
  const Config& heard = *model.find("encoder");
  const Config* const name = heard.find("name");
  if (name == nullptr || name->text() != "fastconformer") {
    throw_no_export("model.encoder is no ConformerEncoder of NeMo", "name: fastconformer");
  }
  Config out = Config::map();
  out["preprocessor"] = without_nulls(*heard.find("preprocessor"));
  out["preprocessor"]["_target_"] = target(kAsr, "AudioToMelSpectrogramPreprocessor");
  for (const char* key : {"normalize", "preemph", "mel_norm"}) {  // null is not their default
    if (heard.find("preprocessor")->find(key)->is_null()) out["preprocessor"][key] = Config();
  }
  out["encoder"] = conformer(*heard.find("encoder"));
  const Config* const masks = heard.find("spec_augment");
  if (masks != nullptr &&
      (is_set(masks->find("freq_masks")) || is_set(masks->find("time_masks")))) {
    out["spec_augment"] = spec_augment(*masks);
  }
  out["modality_adapter"] =
      connector(*model.find("modality_adapter"), *heard.find("encoder"), width);
  out["output_dim"] = width;
  return out;
}

}  // namespace

bool is_set(const Config* node) {
  if (node == nullptr || node->is_null()) return false;
  if (!node->is_scalar()) return true;
  return node->text() != "false" && node->text() != "0" && !node->text().empty();
}

void refuse(const Config& model, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (!is_set(model.find_path(key))) continue;
    throw_no_export(std::string("NeMo's class has no counterpart of model.") + key,
                    "a model without it");
  }
}

Config without_nulls(const Config& block) {
  Config out = Config::map();
  for (const auto& [key, value] : block.entries()) {
    const bool is_empty = value.is_null() || (value.is_list() && value.items().empty());
    if (!is_empty) out[key] = value;
  }
  return out;
}

void copy(const Config& from, Config& to, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const Config* const value = from.find(key);
    if (value != nullptr && !value->is_null()) to[key] = *value;
  }
}

Config lora(const Config& options) {
  Config out = Config::map();
  out["task_type"] = Config::scalar("CAUSAL_LM", true);
  copy(options, out, {"r", "lora_alpha", "lora_dropout", "target_modules"});
  for (const char* key : {"exclude_modules", "layers_to_transform", "layers_pattern",
                          "rank_pattern", "alpha_pattern", "use_rslora"}) {
    const Config* const value = options.find(key);
    const bool is_set = value != nullptr && (value->text() == "true" || !value->items().empty() ||
                                             !value->entries().empty());
    if (is_set) out[key] = *value;
  }
  for (const auto& [ours, theirs] : {std::pair("target_pattern", "target_modules"),
                                     std::pair("exclude_pattern", "exclude_modules")}) {
    const Config* const pattern = options.find(ours);
    if (pattern != nullptr && !pattern->is_null()) out[theirs] = *pattern;
  }
  return out;
}

Config listener(const ForeignExport& exported) {
  const Config& model = *exported.config.find("model");
  Config out = Config::map();
  out["pretrained_llm"] = Config::scalar("llm_backbone", true);
  out["pretrained_asr"] = Config();
  out["pretrained_weights"] = Config::scalar("false");
  copy(model, out, {"freeze_params", "prevent_freeze_params"});
  out["perception"] = perception(model, *exported.llm.find("hidden_size"));
  return out;
}

void add_special_tokens(const ForeignExport& exported, Config& block) {
  for (const auto& [key, text] : exported.special_tokens) block[key] = Config::scalar(text, true);
}

}  // namespace s2s::nemo
