#include "s2s/decoder_options.h"

#include <fmt/format.h>

#include "nn/decoder_errors.h"

namespace s2s {

void RopeScalingOptions::visit(OptionVisitor& v) {
  v("rope_type", rope_type, "kind of scaling");
  v("factor", factor, "how many times longer texts become", at_least(1e-6));
  v("low_freq_factor", low_freq_factor, "longest wavelength kept, as a share of the original",
    at_least(1e-6));
  v("high_freq_factor", high_freq_factor, "shortest wavelength stretched, likewise",
    at_least(1e-6));
  v("original_max_position_embeddings", original_max_position_embeddings,
    "positions before scaling", at_least(1));
}

void DecoderOptions::visit(OptionVisitor& v) {
  v("path", path, "Hugging Face folder with config.json and weights; null: random weights");
  v("vocab_size", vocab_size, "tokens", at_least(1));
  v("hidden_size", hidden_size, "width of the residual stream", at_least(1));
  v("intermediate_size", intermediate_size, "width inside the MLP", at_least(1));
  v("num_hidden_layers", num_hidden_layers, "decoder layers", at_least(1));
  v("num_attention_heads", num_attention_heads, "query heads", at_least(1));
  v("num_key_value_heads", num_key_value_heads, "key/value heads; null: as many as query heads",
    at_least(1));
  v("head_dim", head_dim, "width of a head; null: hidden_size / num_attention_heads", at_least(2));
  v("hidden_act", hidden_act, "activation of the MLP's gate", one_of({"silu"}));
  v("rms_norm_eps", rms_norm_eps, "added to the mean square", at_least(0));
  v("rope_theta", rope_theta, "rotary base, dimensionless", at_least(1));
  v("rope_scaling", rope_scaling, "stretching of rotary frequencies");
  v("tie_word_embeddings", tie_word_embeddings, "the head uses the embedding's weight");
  v("attention_bias", attention_bias, "biases on q, k, v and o");
  v("mlp_bias", mlp_bias, "biases in the MLP");
  v("initializer_range", initializer_range, "standard deviation of first weights", at_least(0));
  v("max_position_embeddings", max_position_embeddings,
    "positions the weights were trained for; longer texts are not refused", at_least(1));
  v("pad_token_id", pad_token_id, "id whose embedding is not trained by look-ups; null: none",
    at_least(0));
}

namespace {

BackboneShape shape_of(const DecoderOptions& o, const std::string& path) {
  const int64_t heads = o.num_attention_heads;
  const int64_t kv_heads = o.num_key_value_heads.value_or(heads);
  if (!o.head_dim && o.hidden_size % heads != 0) {
    throw decoder_errors::sizes(
        path, fmt::format("hidden_size = {} is not divisible by num_attention_heads = {}; give "
                          "head_dim, or sizes that divide",
                          o.hidden_size, heads));
  }
  if (heads % kv_heads != 0) {
    throw decoder_errors::sizes(
        path, fmt::format("num_attention_heads = {} is not divisible by num_key_value_heads = {}",
                          heads, kv_heads));
  }
  const int64_t head_dim = o.head_dim.value_or(o.hidden_size / heads);
  if (head_dim % 2 != 0) {
    throw decoder_errors::sizes(
        path, fmt::format("head_dim = {} is odd, expected an even number (rotary embedding turns "
                          "pairs)",
                          head_dim));
  }
  return {o.vocab_size, o.hidden_size, o.num_hidden_layers, heads,
          kv_heads,     head_dim,      o.intermediate_size, o.tie_word_embeddings};
}

RotaryFacts rotary_of(const DecoderOptions& o, const RopeTypes& types, const std::string& path) {
  const RopeScalingOptions& r = o.rope_scaling;
  const auto type = types.find(r.rope_type);
  if (type == types.end()) {
    std::vector<std::string> known;
    for (const auto& entry : types) known.push_back(entry.first);
    throw decoder_errors::rope_type(path, r.rope_type, known);
  }
  return {o.rope_theta,      type->second,       r.factor,
          r.low_freq_factor, r.high_freq_factor, r.original_max_position_embeddings};
}

}  // namespace

DecoderFacts decoder_facts(const DecoderOptions& options, const RopeTypes& rope_types,
                           const std::string& path) {
  DecoderFacts facts;
  facts.shape = shape_of(options, path);
  facts.rotary = rotary_of(options, rope_types, path);
  facts.norm_eps = options.rms_norm_eps;
  facts.initializer_range = options.initializer_range;
  facts.qkv_bias = facts.o_bias = options.attention_bias;
  facts.mlp_bias = options.mlp_bias;
  facts.weights_path = options.path.value_or("");
  if (options.pad_token_id) {
    if (*options.pad_token_id >= options.vocab_size) {
      throw decoder_errors::pad_token(path, *options.pad_token_id, options.vocab_size);
    }
    facts.padding_idx = *options.pad_token_id;
  }
  return facts;
}

}  // namespace s2s
