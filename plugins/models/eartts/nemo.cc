// Configuration and checkpoints of NeMo's DuplexEARTTS.

#include "s2s/nemo.h"

#include <ATen/ATen.h>

#include <array>
#include <filesystem>

#include "duplex_model.h"
#include "s2s/kinds/model_capabilities.h"

namespace s2s::eartts {
namespace {

namespace fs = std::filesystem;

constexpr std::array kKeys = {
    read_as("model.inference_guidance_scale", "model.generation.guidance_scale"),
    read_as("model.inference_noise_scale", "model.generation.noise_scale"),
    read_as("model.inference_top_p_or_k", "model.generation.top_p_or_k"),
    read_as("model.tts_config.num_delay_speech_tokens", "model.prompt.num_delay_speech_tokens"),
    read_as("data.audio_prompt_duration", "model.prompt.audio_prompt_duration"),
    read_as("data.add_audio_prompt", "model.prompt.add_audio_prompt"),
    read_as("data.add_audio_prompt_after_description", "model.prompt.add_audio_prompt"),
    no_effect("model.tts_config.cas_config.pretrained_tokenizer_name",
              "NeMo's classes do not read it"),
    no_effect("model.tts_config.backbone_model_class", "", "null"),
    no_effect("model.tts_config.backbone_config_class", "", "null"),
    no_effect("model.tts_config.cas_config.backbone_model_class", "", "null"),
    no_effect("model.tts_config.cas_config.backbone_config_class", "", "null"),
};

/// Reads the codec: codec_config and the file of pretrained_audio_codec.
void read_codec(ConfigTranslation& translation) {
  Config& model = translation.config["model"];
  const Config* const found = model.find("codec_config");
  if (found == nullptr || !found->is_map()) return;
  Config codec = *found;
  codec["name"] = Config::scalar("rvq_vae");
  if (const Config* const path = model.find("pretrained_audio_codec")) {
    if (!path->is_null()) codec["path"] = *path;
  }
  if (const Config* const own = model.find("codec"); own != nullptr && own->is_map()) {
    for (const auto& [key, value] : own->entries()) codec[key] = value;
  }
  translation.note_read("model.codec_config", *found, "model.codec");
  model["codec"] = std::move(codec);
  model.erase("codec_config");
  model.erase("pretrained_audio_codec");
}

/// Reads the tokenizer and, if the speech model needs them, the text embeddings from a local
/// folder.
void read_text_model(ConfigTranslation& translation) {
  Config& model = translation.config["model"];
  const Config* const found = model.find("pretrained_lm_name");
  if (found == nullptr || !found->is_scalar()) return;
  const Config folder = *found;
  if (!fs::is_directory(folder.text())) return;
  model.erase("pretrained_lm_name");
  if (model.find("tokenizer") == nullptr) {
    translation.set("model.tokenizer.name", Config::scalar("hf"));
    translation.set("model.tokenizer.path", folder);
  }
  const Config* const width = model.find_path("tts_config.context_hidden_size");
  if (width != nullptr && !width->is_null() && model.find("text_embedding") == nullptr) {
    translation.set("model.text_embedding.path", folder);
  }
  translation.note_read("model.pretrained_lm_name", folder, "model.tokenizer");
}

void read_class(ConfigTranslation& translation) {
  read_codec(translation);
  read_text_model(translation);
  Config& model = translation.config["model"];
  const Config* const guided = model.find("inference_guidance_enabled");
  if (guided != nullptr && guided->is_scalar() && guided->text() == "false") {
    translation.set("model.generation.guidance_scale", Config());
    model.erase("inference_guidance_enabled");
    model.erase("inference_guidance_scale");
  }
  translation.take(kKeys);
}

/// The sample rate of the speech, which is always the codec's.
Config speech_rate(const ForeignExport& exported) {
  for (const char* key : {"model.codec.sample_rate", "data.target_sample_rate"}) {
    const Config* const rate = exported.config.find_path(key);
    if (nemo::is_set(rate)) return *rate;
  }
  return Config::scalar(std::to_string(exported.codec_rate_hz));
}

Config written_config(const ForeignExport& exported) {
  const Config& config = exported.config;
  const Config& model = *config.find("model");
  Config block = Config::map();
  Config speech = *model.find("tts_config");
  if (!nemo::is_set(speech.find("backbone_type"))) {
    throw_no_export("model.tts_config.llm is our form of the backbone",
                    "backbone_type and backbone_config in model.tts_config");
  }
  if (nemo::is_set(speech.find("context_hidden_size")) &&
      !nemo::is_set(model.find_path("text_embedding.path"))) {
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
  block["tokenizer_path"] = Config::scalar(exported.folder, true);
  block["pretrained_lm_name"] = table == nullptr ? Config() : *table;
  nemo::copy(model, block,
             {"freeze_params", "exclude_norm_from_wd", "inference_force_speech_silence_on_eos"});
  for (const char* key : {"guidance_scale", "noise_scale", "top_p_or_k"}) {
    const Config* const value = model.find_path(std::string("generation.") + key);
    if (value != nullptr && !value->is_null()) block[std::string("inference_") + key] = *value;
  }
  nemo::add_special_tokens(exported, block);
  Config out = Config::map();
  out["model"] = std::move(block);
  Config data = Config::map();
  const Config rate = speech_rate(exported);
  const Config* const heard = config.find_path("data.source_sample_rate");
  data["source_sample_rate"] = nemo::is_set(heard) ? *heard : rate;
  data["target_sample_rate"] = rate;
  const Config* const frame = config.find_path("data.frame_length");
  data["frame_length"] = nemo::is_set(frame) ? *frame : Config::scalar("0.08");
  nemo::copy(*model.find("prompt"), data, {"add_audio_prompt", "audio_prompt_duration"});
  out["data"] = std::move(data);
  out["exp_manager"]["explicit_log_dir"] = Config::scalar("nemo_experiments", true);
  return out;
}

/// The ids that delay, end and begin the voice.
void add_control_codes(const ForeignExport&, Model& model, TensorMap& tensors) {
  const int64_t size = find_capability<HasCodec>(model)->codec().shape().codebook_size;
  tensors["_control_codes"] = at::tensor({size + 2, size + 1, size}, at::kLong);
}

}  // namespace

std::vector<ForeignClass> foreign_classes() {
  return {{.name = "DuplexEARTTS",
           .marks = {{"tts_config", MarkWeight::kOwn}},
           .tensors = {{{"tts_model."}, {"stt_model."}}},
           .read = read_class,
           .write = written_config,
           .add_tensors = add_control_codes}};
}

}  // namespace s2s::eartts
