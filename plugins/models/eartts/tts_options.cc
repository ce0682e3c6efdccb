#include "tts_options.h"

#include "eartts_errors.h"

namespace s2s::eartts {
namespace {

/// Keys of T5GemmaModuleConfig without effect on an encoder of embeddings.
const std::vector<std::string> kHarmlessKeys = {"vocab_size",
                                                "max_position_embeddings",
                                                "initializer_range",
                                                "use_cache",
                                                "pad_token_id",
                                                "eos_token_id",
                                                "bos_token_id",
                                                "tie_word_embeddings",
                                                "model_type",
                                                "final_logit_softcapping",
                                                "is_decoder",
                                                "layer_types",
                                                "dtype",
                                                "torch_dtype",
                                                "rope_parameters",
                                                "hidden_activation",
                                                "dropout_rate",
                                                "architectures",
                                                "transformers_version"};

/// Refuses values that would change the result.
void check_char_encoder(const Config& encoder, const std::string& path) {
  const auto check = [&](const char* key, const std::string& expected, const auto& holds) {
    const Config* found = encoder.find(key);
    if (found == nullptr || found->is_null() || holds(*found)) return;
    throw bad_subword_encoder_error(path + "." + key, found->text(), expected);
  };
  check("hidden_activation", "gelu_pytorch_tanh",
        [](const Config& value) { return value.text() == "gelu_pytorch_tanh"; });
  check("dropout_rate", "0", [&](const Config& value) { return value.as_double(path) == 0; });
  check("rope_parameters", "rope_type: default", [](const Config& value) {
    const Config* type = value.find("rope_type");
    return type == nullptr || type->text() == "default";
  });
}

}  // namespace

void CharEncoderOptions::visit(OptionVisitor& v) {
  v("hidden_size", hidden_size, "width", at_least(1));
  v("intermediate_size", intermediate_size, "width of the MLPs", at_least(1));
  v("num_hidden_layers", num_hidden_layers, "layers", at_least(0));
  v("num_attention_heads", num_attention_heads, "query heads", at_least(1));
  v("num_key_value_heads", num_key_value_heads, "key/value heads", at_least(1));
  v("head_dim", head_dim, "elements of a head", at_least(2));
  v("rms_norm_eps", rms_norm_eps, "added to mean squares in norms", at_least(0));
  v("rope_theta", rope_theta, "base of the rotary angles", at_least(1));
  v("query_pre_attn_scalar", query_pre_attn_scalar, "scores are divided by its square root",
    at_least(0));
  v("attn_logit_softcapping", attn_logit_softcapping, "soft cap of scores; null: none");
  v("attention_bias", attention_bias, "biases in attention's projections");
  v("attention_dropout", attention_dropout,
    "probability that an attention weight is dropped while training", between(0, 1));
  v("sliding_window", sliding_window,
    "characters that see each other; must be longer than every subword", at_least(1));
}

void TtsOptions::visit(OptionVisitor& v) {
  v("llm", llm, "the backbone; null: from backbone_type and backbone_config", "llm");
  v("backbone_type", backbone_type, "model_type of the backbone (NeMo's form of llm)");
  v("backbone_config", backbone_config, "its config.json (NeMo's form of llm)");
  v("latent_size", latent_size, "elements of the codec's latent frames", at_least(1));
  v("codebook_size", codebook_size, "entries of each of the codec's books", at_least(1));
  v("num_quantizers", num_quantizers, "books of the codec", at_least(1));
  v("context_hidden_size", context_hidden_size,
    "width of a language model's embeddings or states that condition the speech; null: none",
    at_least(1));
  v("cas_config", cas_config, "character-aware subword encoder; null: none");
  v("use_subword_flag_emb", use_subword_flag_emb,
    "subwords that continue a word have an embedding of their own added");
  v("use_bos_eos_emb", use_bos_eos_emb, "so do the ids that begin and end a turn");
  v("use_gated_fusion_for_text_audio", use_gated_fusion_for_text_audio,
    "text and audio are combined by a gate; false: added");
  v("use_audio_prompt_frozen_projection", use_audio_prompt_frozen_projection,
    "the audio prompt goes through a fixed random matrix");
  v("disable_eos_prediction", disable_eos_prediction, "no classifier of the end of speech");
  v("random_target_masking", random_target_masking,
    "a frame's target is a random number of books, not all that are hidden");
  v("mog_head_config", mog_head_config, "the head");
  v("p_uncond", p_uncond, "probability that a row is trained without its condition", between(0, 1));
  v("label_smoothing", label_smoothing, "share of the posterior that is spread evenly",
    between(0, 1));
  v("max_training_rate", max_training_rate, "largest share of books that the head sees",
    between(0, 1));
  v("quantizer_dropout", quantizer_dropout,
    "probability that a frame of the input keeps a random number of books only", between(0, 1));
  v("exponent", exponent, "of the masking schedule", at_least(0));
}

std::optional<SubwordOptions> subword_options_of(const Config& cas_config,
                                                 const std::string& path) {
  if (!cas_config.is_map()) return {};
  for (const auto& [key, value] : cas_config.entries()) {
    // NeMo keeps a copy of the characters in vocab_dir.
    if (key == "backbone_type" || key == "backbone_config" || key == "vocab_dir") continue;
    if (value.is_null() || value.text() == "false") continue;
    throw bad_subword_encoder_error(path + ".cas_config." + key, value.text(), "null");
  }
  SubwordOptions options;
  if (const Config* type = cas_config.find("backbone_type")) options.backbone_type = type->text();
  const Config* backbone = cas_config.find("backbone_config");
  if (options.backbone_type != "t5gemma" || backbone == nullptr) {
    throw bad_subword_encoder_error(path + ".cas_config.backbone_type", options.backbone_type,
                                    "t5gemma with a backbone_config");
  }
  const Config* encoder = backbone->find("encoder");
  const std::string place = path + ".cas_config.backbone_config.encoder";
  if (encoder == nullptr || !encoder->is_map()) {
    throw bad_subword_encoder_error(place, "null", "the encoder's sizes");
  }
  check_char_encoder(*encoder, place);
  Findings findings;
  OptionReader(*encoder, place, findings, kHarmlessKeys).read(options.encoder);
  findings.throw_if_any();
  if (const Config* rope = encoder->find_path("rope_parameters.rope_theta")) {
    options.encoder.rope_theta = rope->as_double(place + ".rope_parameters.rope_theta");
  }
  return options;
}

Config backbone_node_of(const TtsOptions& options, const std::string& path) {
  if (options.llm.is_map()) return options.llm;
  if (!options.backbone_type) throw no_backbone_error(path);
  Config foreign = options.backbone_config.is_map() ? options.backbone_config : Config::map();
  foreign["model_type"] = Config::scalar(*options.backbone_type, true);
  // The embedding table is not used. NeMo's blocks leave its size to transformers.
  if (foreign.find("vocab_size") == nullptr) foreign["vocab_size"] = Config::scalar("151936");
  return translate_llm_config(foreign);
}

void check(const TtsOptions& options, const std::string& path) {
  const std::optional<int64_t>& rank = options.mog_head_config.low_rank;
  if (rank && *rank >= options.latent_size) {
    throw bad_sizes_error(path + ".mog_head_config.low_rank", *rank,
                          "less than latent_size (" + std::to_string(options.latent_size) + ")");
  }
}

}  // namespace s2s::eartts
