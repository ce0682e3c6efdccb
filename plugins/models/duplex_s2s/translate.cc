#include <ATen/ATen.h>

#include "duplex_options.h"
#include "s2s/kinds/model_capabilities.h"
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

/// The ids that begin, end and delay the agent's voice.
void add_control_codes(const ForeignExport&, Model& model, TensorMap& tensors) {
  const int64_t size = find_capability<HasCodec>(model)->codec().shape().codebook_size;
  tensors["_control_codes"] = at::tensor({size, size + 1, size + 2}, at::kLong);
}

/// Also parts that NeMo's class with a speech decoder builds and does not use, and its masks.
void add_unused_parts(const ForeignExport& exported, Model& model, TensorMap& tensors) {
  add_control_codes(exported, model, tensors);
  const CodecShape codec = find_capability<HasCodec>(model)->codec().shape();
  const int64_t width = exported.llm.find("hidden_size")->as_int("hidden_size");
  const int64_t codes = codec.codebook_size + 3;
  for (int64_t book = 0; book < codec.num_codebooks; ++book) {
    tensors["embed_audio_tokens." + std::to_string(book) + ".weight"] = at::zeros({codes, width});
  }
  tensors["audio_head.weight"] = at::zeros({codes * codec.num_codebooks, width});
  tensors["audio_head.bias"] = at::zeros({codes * codec.num_codebooks});
  const Config& decoder = *exported.config.find_path("model.speech_decoder");
  const auto number = [&decoder](const char* key) {
    return decoder.find(key)->as_int(std::string("model.speech_decoder.") + key);
  };
  const int64_t length = number("max_length_causal_mask");
  for (int64_t layer = 0; layer < number("n_layers"); ++layer) {
    tensors["speech_generation.t5_decoder.layers." + std::to_string(layer) +
            ".self_attention.causal_mask"] =
        at::ones({length, length}).tril().view({1, 1, length, length});
  }
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
           .write = written_config,
           .add_tensors = add_control_codes}};
}

std::vector<ForeignClass> foreign_classes_with_decoder() {
  return {{.name = "DuplexS2SSpeechDecoderModel",
           .marks = {{"speech_decoder", MarkWeight::kOwn}},
           .tensors = {{{"speech_generation.", "perception."}, {}}},
           .write = written_config,
           .add_tensors = add_unused_parts}};
}

}  // namespace s2s::duplex_s2s
