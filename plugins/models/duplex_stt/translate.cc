#include <array>
#include <vector>

#include "s2s/nemo.h"
#include "stt_options.h"

namespace s2s::duplex_stt {
namespace {

/// Keys of NeMo's block that are options with the same name.
std::vector<std::string> shared_keys() {
  std::vector<std::string> keys;
  for (const OptionRow& row : list_options<SttOptions>()) {
    keys.push_back(row.name.substr(0, row.name.find('.')));
  }
  return keys;
}

constexpr std::array kKeys = {
    no_effect("model.audio_loss_weight", "the model has no audio loss", "0"),
};

Config written_config(const ForeignExport& exported) {
  const Config& model = *exported.config.find("model");
  nemo::refuse(model, {"lora.r"});
  Config out = nemo::listener(exported);
  for (const auto& [key, value] : model.entries()) {
    const bool is_ours = key == "llm" || key == "encoder" || key == "modality_adapter" ||
                         key == "tokens" || key == "tokenizer" || key == "type" || key == "lora";
    if (is_ours || value.is_null() || out.find(key) != nullptr) continue;
    if (value.is_scalar() || key == "token_loss_weight") out[key] = value;
  }
  for (const char* key : {"answer_metrics", "system_prompt", "loss_normalization"}) out.erase(key);
  // NeMo asks for the key, not for weights that differ.
  if (!exported.has_token_loss_weight) out.erase("token_loss_weight");
  nemo::add_special_tokens(exported, out);
  out["source_sample_rate"] = *model.find_path("encoder.preprocessor.sample_rate");
  out["validation_save_path"] = Config::scalar("validation", true);
  return out;
}

}  // namespace

Config translate_nemo(const Config& foreign) {
  const Config& model = required_key(foreign, "model", "options");
  Config out = Config::map();
  for (const std::string& key : shared_keys()) {
    const Config* value = model.find(key);
    if (value != nullptr && !value->is_null()) out[key] = *value;
  }
  nemo::read_listener(foreign, out);
  return out;
}

std::vector<ForeignClass> foreign_classes() {
  return {{.name = "DuplexSTTModel",
           .marks = {{"validation_save_path", MarkWeight::kLikely},
                     {"predict_user_text", MarkWeight::kLikely},
                     {"source_sample_rate", MarkWeight::kLikely}},
           .tensors = {{{"llm.layers.", "perception."},
                        {"perception.asr.", "speech_generation.", "embed_audio_tokens.",
                         "llm.model.", "llm.base_model."}}},
           .read = [](ConfigTranslation& translation) { translation.take(kKeys); },
           .write = written_config}};
}

}  // namespace s2s::duplex_stt
