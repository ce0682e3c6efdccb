#include "s2s_run/checkpoint/nemo_config.h"

#include <initializer_list>
#include <string>

#include "s2s/foreign_text.h"
#include "train/train_errors.h"

namespace s2s::run {
namespace {

constexpr const char* kAsr = "nemo.collections.asr.modules.";
constexpr const char* kPerception = "nemo.collections.speechlm2.modules.perception.";

bool is_set(const Config* node) {
  if (node == nullptr || node->is_null()) return false;
  if (!node->is_scalar()) return true;
  return node->text() != "false" && node->text() != "0" && !node->text().empty();
}

/// Refuses options that change the result and that NeMo's class does not have.
void refuse(const Config& model, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (!is_set(model.find_path(key))) continue;
    throw_no_export(std::string("NeMo's class has no counterpart of model.") + key,
                    "a model without it");
  }
}

Config target(const char* module, const char* name) {
  return Config::scalar(std::string(module) + name, true);
}

/// The keys of a block that have a value.
Config without_nulls(const Config& block) {
  Config out = Config::map();
  for (const auto& [key, value] : block.entries()) {
    const bool is_empty = value.is_null() || (value.is_list() && value.items().empty());
    if (!is_empty) out[key] = value;
  }
  return out;
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

/// Connectors that end in the language model's width have no projection behind them.
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

/// What the classes that hear have in common.
Config listener(const Config& model, const Config& llm) {
  Config out = Config::map();
  out["pretrained_llm"] = Config::scalar("llm_backbone", true);
  out["pretrained_asr"] = Config();
  out["pretrained_weights"] = Config::scalar("false");
  copy(model, out, {"freeze_params", "prevent_freeze_params"});
  out["perception"] = perception(model, *llm.find("hidden_size"));
  return out;
}

Config salm(const Config& model, const Config& llm) {
  const Config* const words = model.find_path("asr_decoder.vocabulary");
  if (words != nullptr && words->is_list() && !words->items().empty()) {
    throw_no_export("the configuration of NeMo's SALMWithAsrDecoder is not written",
                    "a SALM without model.asr_decoder");
  }
  Config out = listener(model, llm);
  copy(model, out, {"audio_locator_tag", "prompt_format", "encoder_chunk_size_seconds"});
  out["prompt_format"];  // NeMo's generate asks for the key
  if (is_set(model.find_path("lora.r"))) {
    out["lora"] = lora(*model.find("lora"));
    if (out.find("prevent_freeze_params") == nullptr) {
      out["prevent_freeze_params"] = Config::list({});
    }
  }
  return out;
}

/// Special tokens by their texts, which NeMo's classes give to the tokenizer's files.
void add_special_tokens(const NemoFacts& facts, Config& block) {
  for (const auto& [key, text] : facts.special_tokens) block[key] = Config::scalar(text, true);
}

Config duplex_stt(const Config& model, const Config& llm, const NemoFacts& facts) {
  refuse(model, {"lora.r"});
  Config out = listener(model, llm);
  for (const auto& [key, value] : model.entries()) {
    const bool is_ours = key == "llm" || key == "encoder" || key == "modality_adapter" ||
                         key == "tokens" || key == "tokenizer" || key == "type" || key == "lora";
    if (is_ours || value.is_null() || out.find(key) != nullptr) continue;
    if (value.is_scalar() || key == "token_loss_weight") out[key] = value;
  }
  for (const char* key : {"answer_metrics", "system_prompt", "loss_normalization"}) out.erase(key);
  // NeMo asks for the key, not for weights that differ.
  if (!facts.has_token_loss_weight) out.erase("token_loss_weight");
  add_special_tokens(facts, out);
  out["source_sample_rate"] = *model.find_path("encoder.preprocessor.sample_rate");
  out["validation_save_path"] = Config::scalar("validation", true);
  return out;
}

Config duplex_s2s(const Config& model, const Config& llm) {
  refuse(model, {"lora.r", "user_text.enabled", "text_hold"});
  if (const Config* scale = model.find("text_embedding_scale");
      scale != nullptr && scale->as_double("model.text_embedding_scale") != 1) {
    throw_no_export("NeMo's class has no counterpart of model.text_embedding_scale", "1");
  }
  Config out = listener(model, llm);
  copy(model, out, {"text_loss_weight", "audio_loss_weight", "duplex_user_channel_weight"});
  if (const Config* const decoder = model.find("speech_decoder")) {
    out["speech_decoder"] = without_nulls(*decoder);
  }
  out["pretrained_audio_codec"] = Config::scalar("???", true);
  return out;
}

/// The rate of the speech, which is the codec's wherever it is written.
Config speech_rate(const Config& config, const NemoFacts& facts) {
  for (const char* key : {"model.codec.sample_rate", "data.target_sample_rate"}) {
    const Config* const rate = config.find_path(key);
    if (is_set(rate)) return *rate;
  }
  return Config::scalar(std::to_string(facts.codec_rate_hz));
}

Config duplex_eartts(const Config& config, const NemoFacts& facts) {
  const Config& model = *config.find("model");
  Config block = Config::map();
  Config speech = *model.find("tts_config");
  if (!is_set(speech.find("backbone_type"))) {
    throw_no_export("model.tts_config.llm is our form of the backbone",
                    "backbone_type and backbone_config in model.tts_config");
  }
  if (is_set(speech.find("context_hidden_size")) &&
      !is_set(model.find_path("text_embedding.path"))) {
    throw_no_export(
        "NeMo reads the text embeddings of model.tts_config.context_hidden_size from a "
        "language model",
        "its folder as model.text_embedding.path");
  }
  speech.erase("llm");
  block["tts_config"] = std::move(speech);
  block["codec_config"] = *model.find("codec");
  for (const char* key : {"name", "path", "sample_rate"}) block["codec_config"].erase(key);
  const Config* const table = model.find_path("text_embedding.path");
  block["tokenizer_path"] = Config::scalar(facts.folder, true);
  block["pretrained_lm_name"] = table == nullptr ? Config() : *table;
  copy(model, block,
       {"freeze_params", "exclude_norm_from_wd", "inference_force_speech_silence_on_eos"});
  for (const char* key : {"guidance_scale", "noise_scale", "top_p_or_k"}) {
    const Config* const value = model.find_path(std::string("generation.") + key);
    if (value != nullptr && !value->is_null()) block[std::string("inference_") + key] = *value;
  }
  add_special_tokens(facts, block);
  Config out = Config::map();
  out["model"] = std::move(block);
  Config data = Config::map();
  const Config rate = speech_rate(config, facts);
  const Config* const heard = config.find_path("data.source_sample_rate");
  data["source_sample_rate"] = is_set(heard) ? *heard : rate;
  data["target_sample_rate"] = rate;
  const Config* const frame = config.find_path("data.frame_length");
  data["frame_length"] = is_set(frame) ? *frame : Config::scalar("0.08");
  copy(*model.find("prompt"), data, {"add_audio_prompt", "audio_prompt_duration"});
  out["data"] = std::move(data);
  out["exp_manager"]["explicit_log_dir"] = Config::scalar("nemo_experiments", true);
  return out;
}

Config config_of_class(const Config& config, const Config& llm, const NemoFacts& facts) {
  const Config& model = *config.find("model");
  const std::string type = model.find("type")->text();
  if (type == "duplex_eartts") return duplex_eartts(config, facts);
  if (type == "salm") return salm(model, llm);
  if (type == "duplex_stt") return duplex_stt(model, llm, facts);
  if (type == "duplex_s2s" || type == "duplex_s2s_speech_decoder") return duplex_s2s(model, llm);
  throw_no_export("no class of NeMo speechlm2 reads a model of type " + printable(type),
                  "salm, duplex_stt, duplex_s2s, duplex_s2s_speech_decoder or duplex_eartts");
}

}  // namespace

Config nemo_config(const Config& config, const Config& llm, const NemoFacts& facts) {
  Config out = config_of_class(config, llm, facts);
  out["model_type"] = Config::scalar("nemo_speechlm", true);
  out["architectures"] =
      Config::list({Config::scalar("NeMoSpeechLMForConditionalGeneration", true)});
  return out;
}

}  // namespace s2s::run
