#include "s2s/plugin.h"

#include <array>

#include "s2s/model_parts.h"
#include "s2s/nemo.h"
#include "voicechat_model.h"
#include "voicechat_options.h"

namespace s2s::nemotron_voicechat {
namespace {

/// Keys of a part's block that the trainer reads when the part is trained alone.
constexpr std::array kTrainerKeys = {
    "type",      "optimizer",          "lr_scheduler", "freeze_params", "prevent_freeze_params",
    "tokenizer", "pretrained_weights", "scoring_asr",  "metrics"};

/// Returns the options of a part from its `model` block, with `type` unless the block has a type.
Config part_node(const Config& block, const char* type) {
  Config node = block.is_null() ? Config::map() : block;
  if (node.find("name") == nullptr) {
    const Config* const own = node.find("type");
    node["name"] = own != nullptr ? *own : Config::scalar(type);
  }
  for (const char* key : kTrainerKeys) node.erase(key);
  return node;
}

/// Returns the data block of the model that speaks: the whole model's keys, overridden by its own.
Config speaker_data(const Config& own, const Config* whole) {
  Config data = whole != nullptr ? *whole : Config::map();
  if (own.is_map()) {
    for (const auto& [key, value] : own.entries()) data[key] = value;
  }
  return data;
}

/// Errors: those of the parts, [model/capability], [model/sample-rate], [model/frame-rate].
std::unique_ptr<Model> create(const Config& model, const ModelContext& context) {
  const auto options = read_options<VoiceChatOptions>(model, context.path);
  VoiceChatParts parts;
  parts.path = context.path;
  parts.listener =
      build_part<Model>(part_node(options.stt.model, "duplex_stt"), model, "stt.model", context);
  Config speaker = part_node(options.speech_generation.model, "duplex_eartts");
  if (options.inference_speaker_reference) {
    speaker["inference_speaker_reference"] = *model.find("inference_speaker_reference");
  }
  const Config data = speaker_data(options.speech_generation.data, context.data);
  ModelContext speaker_context = context;
  speaker_context.data = &data;
  parts.speaker = build_part<Model>(speaker, model, "speech_generation.model", speaker_context);
  auto joined = std::make_unique<VoiceChatModel>(std::move(parts));
  const CodecShape codec = joined->codec().shape();
  const std::string place = context.path + ".speech_generation.model.codec";
  check_sample_rate(place, codec.sample_rate_hz, context.data, "target_sample_rate");
  check_frame_rate(place, codec.frame_rate_hz(), joined->frame_length_s());
  return joined;
}

Component<Model> component() {
  return {.name = "nemotron_voicechat",
          .summary = "a duplex_stt and a duplex_eartts joined for inference: speech in, speech out",
          .create = create,
          .options = list_options<VoiceChatOptions>,
          .translate = translate_nemo,
          .foreign = foreign_classes};
}

}  // namespace

Config translate_nemo(const Config& foreign) {
  const Config& model = required_key(foreign, "model", "options");
  const Config& stt = required_key(model, "stt", "model");
  const Config& speech = required_key(model, "speech_generation", "model");
  Config listener = Config::map(), speaker = Config::map();
  listener["model"] = required_key(stt, "model", "model.stt");
  speaker["model"] = required_key(speech, "model", "model.speech_generation");
  if (const Config* data = speech.find("data")) speaker["data"] = *data;
  for (Config* const part : {&listener, &speaker}) {
    for (const char* key : {"llm_config", "tokens"}) {
      if (const Config* const found = foreign.find(key)) (*part)[key] = *found;
    }
  }
  Config out = Config::map();
  const auto add = [&](const char* key, const char* type, const Config& block) {
    Config node = Config::map();
    node["name"] = Config::scalar(type);
    node["translate_from"] = block;
    out[key]["model"] = node;
  };
  // Their ids differ only in `pieces`, which only the speaker reads.
  if (Config* const tokens = listener.find("tokens")) tokens->erase("pieces");
  add("stt", "duplex_stt", listener);
  add("speech_generation", "duplex_eartts", speaker);
  const Config* const voice = model.find("inference_speaker_reference");
  if (voice != nullptr && !voice->is_null()) out["inference_speaker_reference"] = *voice;
  return out;
}

namespace {

/// Translates the block of one of the two models. They share the tokenizer of the one that listens.
void read_part(ConfigTranslation& translation, const std::string& name, const char* type) {
  Config& model = translation.config["model"];
  Config* const part = model.find(name);
  if (part == nullptr || !part->is_map() || part->find("model") == nullptr) return;
  Config alone = Config::map();
  alone["model"] = *part->find("model");
  if (alone["model"].find("type") == nullptr) alone["model"]["type"] = Config::scalar(type);
  if (const Config* const data = part->find("data")) alone["data"] = *data;
  translation.translate_model(alone, "model." + name);
  if (Config* const tokenizer = alone["model"].find("tokenizer")) {
    const bool is_first = model.find("tokenizer") == nullptr;
    if (is_first) model["tokenizer"] = *tokenizer;
    const Config ids = is_first ? Config() : nemo::token_ids(*tokenizer);
    alone["model"].erase("tokenizer");
    if (!ids.is_null() && alone["model"].find("tokens") == nullptr) alone["model"]["tokens"] = ids;
  }
  Config& own = model[name];
  own["model"] = alone["model"];
  own.erase("exp_manager");
  own.erase("data");
  if (name == "speech_generation" && alone.find("data") != nullptr) own["data"] = alone["data"];
}

void read_class(ConfigTranslation& translation) {
  read_part(translation, "stt", "duplex_stt");
  read_part(translation, "speech_generation", "duplex_eartts");
  Config& model = translation.config["model"];
  const Config* const voice = model.find("inference_speaker_reference");
  if (voice != nullptr && voice->is_scalar() && voice->text() == "None") {
    model["inference_speaker_reference"] = Config();
  }
}

}  // namespace

std::vector<ForeignClass> foreign_classes() {
  return {{.name = "NemotronVoiceChat",
           .marks = {{"speech_generation", MarkWeight::kOwn}},
           .tensors = {{{"stt_model."}, {}}},
           .read = read_class}};
}

}  // namespace s2s::nemotron_voicechat

S2S_PLUGIN("nemotron_voicechat", "0.1.0", "Apache-2.0", "model:nemotron_voicechat") {
  registrar.add(s2s::nemotron_voicechat::component());
}
