#include "duplex_options.h"

namespace s2s::duplex_s2s {

Config translate_nemo(const Config& foreign) {
  const Config& model = required_key(foreign, "model", "options");
  Config out = Config::map();
  out["llm"] = translate_llm_config(required_key(foreign, "llm_config", "options"));
  translate_perception(required_key(model, "perception", "model"), "fastconformer", out);
  out["codec"] = required_key(foreign, "codec", "options");
  if (const Config* tokens = foreign.find("tokens")) out["tokens"] = *tokens;
  for (const char* key : {"text_loss_weight", "audio_loss_weight", "duplex_user_channel_weight"}) {
    if (const Config* value = model.find(key)) out[key] = *value;
  }
  out["loss_normalization"] = Config::scalar("local");
  out["mask_padding"] = Config::scalar("false");
  return out;
}

Config translate_nemo_speech_decoder(const Config& foreign) {
  Config out = translate_nemo(foreign);
  out["speech_decoder"] =
      required_key(required_key(foreign, "model", "options"), "speech_decoder", "model");
  return out;
}

}  // namespace s2s::duplex_s2s
