// Builds the model from options.

#include "eartts_errors.h"
#include "eartts_model.h"
#include "s2s/plugin.h"

namespace s2s::eartts {

Config translate_tts(Config block) {
  // Keys of other parts of NeMo's configuration, and unused alternatives.
  for (const char* key : {"optimizer", "lr_scheduler", "num_delay_speech_tokens"}) block.erase(key);
  for (const char* key : {"pretrained_text_name", "backbone_model_class", "backbone_config_class",
                          "force_no_audio_cond_latent_on_prompt"}) {
    const Config* found = block.find(key);
    if (found == nullptr) continue;
    if (!found->is_null() && found->text() != "false") {
      throw_not_translated(std::string("model.") + key, *found, "null");
    }
    block.erase(key);
  }
  return block;
}

Config translate_generation(Config generation) {
  for (const char* key : {"eos_threshold", "exponent"}) generation.erase(key);
  return generation;
}

void read_tokens(const Config& foreign, Config& out) {
  const Config* const tokens = foreign.find("tokens");
  if (tokens == nullptr) return;
  out["tokens"] = *tokens;
  if (const Config* pieces = tokens->find("pieces")) {
    out["pieces"] = *pieces;
    out["tokens"].erase("pieces");
  }
}

Config translate_eartts(const Config& foreign) {
  const Config* const block = foreign.find("model");
  Config out = translate_tts(block == nullptr ? foreign : *block);
  read_tokens(foreign, out);
  if (const Config* generation = foreign.find("generation")) {
    out["generation"] = translate_generation(*generation);
  }
  return out;
}

std::unique_ptr<Model> create_eartts(const Config& model, const ModelContext& context) {
  auto options = read_options<EarTtsOptions>(model, context.path);
  check(options.tts, context.path);
  const Config backbone = backbone_node_of(options.tts, context.path);
  const bool has_subwords = options.tts.cas_config.is_map();
  auto core = std::make_unique<TtsCore>(
      options.tts, build_part<Backbone>(backbone, model, "llm", context),
      vocabulary_of(options.pieces, options.tokens, context.tokenizer, has_subwords));
  const Sampling sampling = sampling_of(options.generation, context.path + ".generation");
  return std::make_unique<EarTts>(std::move(options), std::move(core), sampling);
}

}  // namespace s2s::eartts
