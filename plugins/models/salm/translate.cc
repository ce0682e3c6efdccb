#include <string>

#include "s2s/nemo.h"
#include "salm_options.h"

namespace s2s::salm {
namespace {

/// The shortest chunk that NeMo's preprocessor normalizes: two mel frames.
std::string min_chunk_seconds(const Config& perception) {
  const Config* const stride = perception.find_path("preprocessor.window_stride");
  return stride == nullptr ? "0.02"
                           : std::to_string(2 * stride->as_double("preprocessor.window_stride"));
}

Config written_config(const ForeignExport& exported) {
  const Config& model = *exported.config.find("model");
  const Config* const words = model.find_path("asr_decoder.vocabulary");
  if (words != nullptr && words->is_list() && !words->items().empty()) {
    throw_no_export("the configuration of NeMo's SALMWithAsrDecoder is not written",
                    "a SALM without model.asr_decoder");
  }
  Config out = nemo::listener(exported);
  nemo::copy(model, out, {"audio_locator_tag", "prompt_format", "encoder_chunk_size_seconds"});
  out["prompt_format"];  // NeMo's generate needs the key
  if (nemo::is_set(model.find_path("lora.r"))) {
    out["lora"] = nemo::lora(*model.find("lora"));
    if (out.find("prevent_freeze_params") == nullptr) {
      out["prevent_freeze_params"] = Config::list({});
    }
  }
  return out;
}

}  // namespace

Config translate_nemo(const Config& foreign) {
  const Config& model = required_key(foreign, "model", "options");
  Config out = Config::map();
  nemo::read_listener(foreign, out);
  for (const char* key : {"audio_locator_tag", "encoder_chunk_size_seconds", "prompt_format",
                          "asr_decoder", "asr_transcript_drop_prob"}) {
    if (const Config* value = model.find(key)) out[key] = *value;
  }
  out["encoder_min_chunk_seconds"] = Config::scalar(min_chunk_seconds(*model.find("perception")));
  return out;
}

std::vector<ForeignClass> foreign_classes() {
  const std::vector<std::string> speaking = {"speech_generation.", "embed_audio_tokens."};
  const auto salm_with = [&](const char* prefix) {
    ForeignClass::Tensors tensors = {{prefix, "perception."}, speaking};
    tensors.lacks.insert(tensors.lacks.end(), {"perception.asr.", "llm.model.embed_tokens."});
    return tensors;
  };
  return {{.name = "SALM",
           .marks = {{"audio_locator_tag", MarkWeight::kOwn}},
           .tensors = {salm_with("llm.model."), salm_with("llm.base_model.")},
           .added_token = "audio_locator_tag",
           .write = written_config},
          {.name = "SALMWithAsrDecoder", .tensors = {{{"perception.asr.", "llm."}, speaking}}},
          {.name = "SALMAutomodel",
           .is_read = false,
           .tensors = {{{"llm.model.embed_tokens.", "perception."}, speaking}}}};
}

}  // namespace s2s::salm
