#pragma once
// Options of EAR-TTS's speech model, with NeMo's names (`tts_config`).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/model_parts.h"
#include "s2s/options.h"

namespace s2s::eartts {

/// The head that predicts a mixture of Gaussians.
struct MogOptions {
  int64_t intermediate_size = 4608;
  int64_t num_layers = 3;
  std::optional<int64_t> low_rank = 64;
  int64_t num_predictions = 1024;
  double min_log_std = -4.0;
  double eps = 1e-6;
  void visit(OptionVisitor& v) {
    v("intermediate_size", intermediate_size, "width of the layers' MLPs", at_least(1));
    v("num_layers", num_layers, "layers in front of the projections", at_least(0));
    v("low_rank", low_rank, "elements of a component's mean; null: those of a latent", at_least(1));
    v("num_predictions", num_predictions, "components of the mixture", at_least(1));
    v("min_log_std", min_log_std, "smallest logarithm of the standard deviation");
    v("eps", eps, "added to mean squares in norms", at_least(0));
  }
};

/// The encoder of a subword's characters: transformers' T5GemmaEncoderModel.
struct CharEncoderOptions {
  double attention_dropout = 0;
  int64_t hidden_size = 2304;
  int64_t intermediate_size = 9216;
  int64_t num_hidden_layers = 26;
  int64_t num_attention_heads = 8;
  int64_t num_key_value_heads = 4;
  int64_t head_dim = 256;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  double query_pre_attn_scalar = 256;
  std::optional<double> attn_logit_softcapping = 50.0;
  bool attention_bias = false;
  std::optional<int64_t> sliding_window = 4096;
  void visit(OptionVisitor& v);
};

/// `cas_config`: the character-aware subword encoder.
struct SubwordOptions {
  std::string backbone_type = "t5gemma";
  CharEncoderOptions encoder;
};

struct TtsOptions {
  Config llm;
  std::optional<std::string> backbone_type;
  Config backbone_config;
  int64_t latent_size = 512;
  int64_t codebook_size = 1024;
  int64_t num_quantizers = 31;
  std::optional<int64_t> context_hidden_size;
  Config cas_config;
  bool use_subword_flag_emb = true;
  bool use_bos_eos_emb = true;
  bool use_gated_fusion_for_text_audio = true;
  bool use_audio_prompt_frozen_projection = false;
  bool disable_eos_prediction = true;
  bool random_target_masking = false;
  MogOptions mog_head_config;
  double p_uncond = 0.1;
  double label_smoothing = 0.01;
  double max_training_rate = 0.8;
  double quantizer_dropout = 0.5;
  double exponent = 3.0;
  void visit(OptionVisitor& v);
};

/// How codes are generated (NeMo's generation_config).
struct GenerationOptions {
  int64_t num_iter = 8;
  std::optional<double> guidance_scale = 0.5;
  Config top_p_or_k = Config::scalar("0.8");
  double noise_scale = 0.8;
  int64_t seed = 0;
  void visit(OptionVisitor& v) {
    v("num_iter", num_iter, "rounds in which the books of a frame are filled", at_least(1));
    v("guidance_scale", guidance_scale,
      "weight of classifier-free guidance; null: no unconditional pass", at_least(0));
    v("top_p_or_k", top_p_or_k,
      "components to choose from: a whole number k (the k most probable), or a share p of the "
      "probability, such as 0.8; 1 is greedy, 1.0 keeps all");
    v("noise_scale", noise_scale, "factor of the noise; 0: the mean", at_least(0));
    v("seed", seed, "of the noise; each speech begins its stream anew", at_least(0));
  }
};

/// The options `cas_config`; none if it is null. Errors: [eartts/subword-encoder], those of reading
/// options.
std::optional<SubwordOptions> subword_options_of(const Config& cas_config, const std::string& path);

/// The backbone's options: `llm`, or from NeMo's backbone_type and backbone_config. Errors:
/// [eartts/backbone].
Config backbone_node_of(const TtsOptions& options, const std::string& path);

/// Checks that the sizes are compatible. Errors: [eartts/sizes].
void check(const TtsOptions& options, const std::string& path);

}  // namespace s2s::eartts
