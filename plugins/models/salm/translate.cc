#include <string>

#include "salm_options.h"

namespace s2s::salm {
namespace {

/// The shortest chunk that NeMo's preprocessor normalizes: two mel frames.
std::string min_chunk_seconds(const Config& perception) {
  const Config* const stride = perception.find_path("preprocessor.window_stride");
  return stride == nullptr ? "0.02"
                           : std::to_string(2 * stride->as_double("preprocessor.window_stride"));
}

}  // namespace

Config translate_nemo(const Config& foreign) {
  const Config& model = required_key(foreign, "model", "options");
  const Config& perception = required_key(model, "perception", "model");
  Config out = Config::map();
  out["llm"] = translate_llm_config(required_key(foreign, "llm_config", "options"));
  translate_perception(perception, "fastconformer", out);
  if (const Config* tokens = foreign.find("tokens")) out["tokens"] = *tokens;
  for (const char* key : {"audio_locator_tag", "encoder_chunk_size_seconds", "prompt_format",
                          "asr_decoder", "asr_transcript_drop_prob"}) {
    if (const Config* value = model.find(key)) out[key] = *value;
  }
  out["encoder_min_chunk_seconds"] = Config::scalar(min_chunk_seconds(perception));
  out["loss_normalization"] = Config::scalar("local");
  return out;
}

}  // namespace s2s::salm
