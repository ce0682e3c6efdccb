#include "duplex_options.h"
#include "s2s/nemo.h"

namespace s2s::duplex_s2s {
namespace {

Config written_config(const ForeignExport& exported) {
  const Config& model = *exported.config.find("model");
  nemo::refuse(model, {"lora.r", "user_text.enabled", "text_hold"});
  if (const Config* scale = model.find("text_embedding_scale");
      scale != nullptr && scale->as_double("model.text_embedding_scale") != 1) {
    throw_no_export("NeMo's class has no counterpart of model.text_embedding_scale", "1");
  }
  Config out = nemo::listener(exported);
  nemo::copy(model, out, {"text_loss_weight", "audio_loss_weight", "duplex_user_channel_weight"});
  if (const Config* const decoder = model.find("speech_decoder")) {
    out["speech_decoder"] = nemo::without_nulls(*decoder);
  }
  out["pretrained_audio_codec"] = Config::scalar("???", true);
  return out;
}

}  // namespace

Config translate_nemo(const Config& foreign) {
  const Config& model = required_key(foreign, "model", "options");
  Config out = Config::map();
  nemo::read_listener(foreign, out);
  out["codec"] = required_key(foreign, "codec", "options");
  for (const char* key : {"text_loss_weight", "audio_loss_weight", "duplex_user_channel_weight"}) {
    if (const Config* value = model.find(key)) out[key] = *value;
  }
  out["mask_padding"] = Config::scalar("false");
  return out;
}

Config translate_nemo_speech_decoder(const Config& foreign) {
  Config out = translate_nemo(foreign);
  out["speech_decoder"] =
      required_key(required_key(foreign, "model", "options"), "speech_decoder", "model");
  return out;
}

std::vector<ForeignClass> foreign_classes() {
  return {{.name = "DuplexS2SModel",
           .marks = {{"pretrained_audio_codec", MarkWeight::kLikely},
                     {"perception", MarkWeight::kShared},
                     {"pretrained_asr", MarkWeight::kShared}},
           .tensors = {{{"embed_audio_tokens.", "perception."}, {"speech_generation."}}},
           .write = written_config}};
}

std::vector<ForeignClass> foreign_classes_with_decoder() {
  return {{.name = "DuplexS2SSpeechDecoderModel",
           .marks = {{"speech_decoder", MarkWeight::kOwn}},
           .tensors = {{{"speech_generation.", "perception."}, {}}},
           .write = written_config}};
}

}  // namespace s2s::duplex_s2s
