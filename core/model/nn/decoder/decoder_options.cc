#include "s2s/nn/decoder_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "s2s/error.h"
#include "s2s/nn/decoder_family.h"

namespace s2s {

void RopeScalingOptions::visit(OptionVisitor& v) {
  v("rope_type", rope_type, "type of scaling");
  v("factor", factor, "factor by which the context is extended", at_least(1e-6));
  v("low_freq_factor", low_freq_factor,
    "longest unscaled wavelength, as a fraction of the original length", at_least(1e-6));
  v("high_freq_factor", high_freq_factor,
    "shortest fully scaled wavelength, as a fraction of the original length", at_least(1e-6));
  v("original_max_position_embeddings", original_max_position_embeddings,
    "context length before scaling", at_least(1));
  v("beta_fast", beta_fast, "yarn: pairs that turn more often in the original length are kept",
    at_least(1e-6));
  v("beta_slow", beta_slow, "yarn: pairs that turn less often are stretched by factor",
    at_least(1e-6));
  v("truncate", truncate, "yarn: round the ends of the ramp between the two to whole pairs");
  v("attention_factor", attention_factor,
    "yarn, longrope: multiplies cos and sin; null: from factor", at_least(0));
  v("mscale", mscale, "yarn: with mscale_all_dim, how attention_factor follows from factor");
  v("mscale_all_dim", mscale_all_dim, "yarn: see mscale");
  v("short_factor", short_factor,
    "longrope: a divisor for each pair in texts up to the original length", at_least(1e-6));
  v("long_factor", long_factor, "longrope: a divisor for each pair in longer texts",
    at_least(1e-6));
}

void WindowOptions::visit(OptionVisitor& v) {
  v("sliding_window", sliding_window,
    "window of local layers in positions, including the current one; null: all positions",
    at_least(1));
  v("layer_types", layer_types, "attention type per layer; empty: determined by the other options",
    one_of({"full_attention", "sliding_attention"}));
}

const RopeTypes& all_rope_types() {
  static const RopeTypes types = {{"default", RotaryScaling::kNone},
                                  {"linear", RotaryScaling::kLinear},
                                  {"dynamic", RotaryScaling::kDynamic},
                                  {"llama3", RotaryScaling::kByWavelength},
                                  {"yarn", RotaryScaling::kYarn}};
  return types;
}

namespace {

// Larger than any known model. Byte and operation counts of all layers still fit in 64 bits.
constexpr double kMaxVocab = 1 << 24, kMaxWidth = 1 << 18, kMaxInner = 1 << 22;
constexpr double kMaxLayers = 1 << 13, kMaxHeads = 1 << 12;

}  // namespace

void DecoderOptions::visit(OptionVisitor& v) {
  v("path", path, "Hugging Face folder with config.json and weights; null: random weights");
  v("vocab_size", vocab_size, "tokens", between(1, kMaxVocab));
  v("hidden_size", hidden_size, "hidden width", between(1, kMaxWidth));
  v("intermediate_size", intermediate_size, "intermediate width of the MLP", between(1, kMaxInner));
  v("num_hidden_layers", num_hidden_layers, "number of decoder layers", between(1, kMaxLayers));
  v("num_attention_heads", num_attention_heads, "number of query heads", between(1, kMaxHeads));
  v("num_key_value_heads", num_key_value_heads,
    "number of key/value heads; null: same as query heads", between(1, kMaxHeads));
  v("head_dim", head_dim, "width of a head; null: hidden_size / num_attention_heads",
    between(2, kMaxHeads));
  v("hidden_act", hidden_act, "activation function of the MLP gate", one_of({hidden_act}));
  v("rms_norm_eps", rms_norm_eps, "epsilon of RMSNorm, added to the mean square", at_least(0));
  v("rope_theta", rope_theta, "base of the rotary embedding", at_least(1));
  v("rope_scaling", rope_scaling, "scaling of the rotary frequencies");
  v("tie_word_embeddings", tie_word_embeddings, "tie the output head to the embedding");
  v("attention_bias", attention_bias, "biases on q, k, v and o");
  v("mlp_bias", mlp_bias, "biases in the MLP");
  v("attention_dropout", attention_dropout,
    "probability that an attention weight is dropped while training", between(0, 1));
  v("initializer_range", initializer_range, "standard deviation of initial weights", at_least(0));
  v("max_position_embeddings", max_position_embeddings,
    "context length that the weights were trained with; longer texts are accepted", at_least(1));
  v("pad_token_id", pad_token_id, "id whose embedding gets no gradient from lookups; null: none",
    at_least(0));
}

namespace {

/// [llm/sizes] Sizes that do not fit together.
Error sizes_error(const std::string& path, const std::string& what) {
  return {ExitCode::kConfig, "llm/sizes", fmt::format("{}: {}", path, what)};
}

/// [llm/rope-type] A type of rotary scaling that the family does not support.
Error rope_type_error(const std::string& path, const std::string& type,
                      const std::vector<std::string>& known) {
  return {ExitCode::kConfig, "llm/rope-type",
          fmt::format("{}.rope_scaling.rope_type is '{}', expected one of {}", path, type,
                      fmt::join(known, ", "))};
}

/// [llm/pad-token] A padding id outside of the vocabulary.
Error pad_token_error(const std::string& path, int64_t id, int64_t vocab_size) {
  return {ExitCode::kConfig, "llm/pad-token",
          fmt::format("{}.pad_token_id is {}, expected an id below vocab_size = {}, or null", path,
                      id, vocab_size)};
}

/// [llm/layer-types] layer_types and sliding_window do not fit the model.
Error layer_types_error(const std::string& path, const std::string& what) {
  return {ExitCode::kConfig, "llm/layer-types", fmt::format("{}.{}", path, what)};
}

BackboneShape shape_of(const DecoderOptions& o, const std::string& path) {
  const int64_t heads = o.num_attention_heads;
  const int64_t kv_heads = o.num_key_value_heads.value_or(heads);
  if (!o.head_dim && o.hidden_size % heads != 0) {
    throw sizes_error(
        path, fmt::format("hidden_size = {} is not divisible by num_attention_heads = {}; give "
                          "head_dim, or sizes that divide",
                          o.hidden_size, heads));
  }
  if (heads % kv_heads != 0) {
    throw sizes_error(
        path, fmt::format("num_attention_heads = {} is not divisible by num_key_value_heads = {}",
                          heads, kv_heads));
  }
  const int64_t head_dim = o.head_dim.value_or(o.hidden_size / heads);
  if (head_dim % 2 != 0) {
    throw sizes_error(
        path, fmt::format("head_dim = {} is odd, expected an even number (rotary embedding turns "
                          "pairs)",
                          head_dim));
  }
  return {o.vocab_size, o.hidden_size, o.num_hidden_layers, heads,
          kv_heads,     head_dim,      o.intermediate_size, o.tie_word_embeddings};
}

/// Source: Peng et al. 2023, arXiv 2309.00071, and transformers' modeling_rope_utils for mscale.
double yarn_attention_factor(const RopeScalingOptions& r) {
  if (r.attention_factor) return *r.attention_factor;
  const auto of = [&](double share) {
    return r.factor <= 1 ? 1.0 : 0.1 * share * std::log(r.factor) + 1;
  };
  const double mscale = r.mscale.value_or(0), all = r.mscale_all_dim.value_or(0);
  return mscale != 0 && all != 0 ? of(mscale) / of(all) : of(1);
}

/// [llm/rope-factors] Lists of divisors that do not fit the head.
Error rope_factors_error(const std::string& path, const char* key, size_t found, int64_t wanted) {
  return {ExitCode::kConfig, "llm/rope-factors",
          fmt::format("{}.rope_scaling.{} has {} numbers, expected head_dim / 2 = {}, one for each "
                      "pair that longrope turns; copy the list of the model's config.json",
                      path, key, found, wanted)};
}

/// Source: transformers' modeling_rope_utils, _compute_longrope_parameters.
void set_long_rope(const DecoderOptions& o, const std::string& path, RotarySpec& spec) {
  const RopeScalingOptions& r = o.rope_scaling;
  const int64_t num_pairs = o.head_dim.value_or(o.hidden_size / o.num_attention_heads) / 2;
  spec.short_factors = r.short_factor;
  spec.long_factors = r.long_factor;
  for (const auto& [key, list] :
       {std::pair("short_factor", &r.short_factor), {"long_factor", &r.long_factor}}) {
    if (static_cast<int64_t>(list->size()) != num_pairs) {
      throw rope_factors_error(path, key, list->size(), num_pairs);
    }
  }
  const double original = r.original_max_position_embeddings;
  // 1 is the option's default: the lengths say the factor then.
  const double factor =
      r.factor != 1 ? r.factor : static_cast<double>(o.max_position_embeddings) / original;
  const double usual = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
  spec.attention_factor = r.attention_factor.value_or(usual);
}

RotarySpec rotary_of(const DecoderOptions& o, const RopeTypes& types, const std::string& path) {
  const RopeScalingOptions& r = o.rope_scaling;
  const auto type = types.find(r.rope_type);
  if (type == types.end()) {
    std::vector<std::string> known;
    for (const auto& entry : types) known.push_back(entry.first);
    throw rope_type_error(path, r.rope_type, known);
  }
  RotarySpec spec;
  spec.theta = o.rope_theta;
  spec.scaling = type->second;
  spec.factor = r.factor;
  spec.low_freq_factor = r.low_freq_factor;
  spec.high_freq_factor = r.high_freq_factor;
  spec.original_max_position_embeddings = r.original_max_position_embeddings;
  spec.beta_fast = r.beta_fast;
  spec.beta_slow = r.beta_slow;
  spec.truncate = r.truncate;
  if (spec.scaling == RotaryScaling::kYarn) spec.attention_factor = yarn_attention_factor(r);
  if (spec.scaling == RotaryScaling::kLongRope) set_long_rope(o, path, spec);
  if (spec.scaling == RotaryScaling::kDynamic) {
    spec.original_max_position_embeddings = static_cast<double>(o.max_position_embeddings);
  }
  return spec;
}

}  // namespace

void set_sizes(const DecoderSizes& sizes, DecoderOptions& options) {
  options.vocab_size = sizes.vocab_size;
  options.hidden_size = sizes.hidden_size;
  options.intermediate_size = sizes.intermediate_size;
  options.num_hidden_layers = sizes.num_layers;
  options.num_attention_heads = sizes.num_heads;
  options.num_key_value_heads = sizes.num_kv_heads;
  options.head_dim = sizes.head_dim;
}

DecoderSpec decoder_spec(const DecoderOptions& options, const RopeTypes& rope_types,
                         const std::string& path) {
  DecoderSpec spec;
  spec.shape = shape_of(options, path);
  spec.rotary = rotary_of(options, rope_types, path);
  spec.norm_eps = options.rms_norm_eps;
  S2S_ASSERT(options.hidden_act == "silu" || options.hidden_act == "gelu_pytorch_tanh",
             "families choose among the activations that core has");
  if (options.hidden_act != "silu") spec.activation = GateActivation::kGeluTanh;
  spec.initializer_range = options.initializer_range;
  spec.attention.dropout = options.attention_dropout;
  spec.qkv_bias = spec.o_bias = options.attention_bias;
  spec.mlp_bias = options.mlp_bias;
  spec.weights_path = options.path.value_or("");
  if (options.pad_token_id) {
    if (*options.pad_token_id >= options.vocab_size) {
      throw pad_token_error(path, *options.pad_token_id, options.vocab_size);
    }
    spec.padding_idx = *options.pad_token_id;
  }
  return spec;
}

void set_windows(const WindowOptions& options, std::vector<bool> derived, const std::string& path,
                 DecoderSpec& spec) {
  spec.local_layers = std::move(derived);
  const auto given = static_cast<int64_t>(options.layer_types.size());
  if (given > 0) {
    if (given != spec.shape.num_layers) {
      throw layer_types_error(
          path, fmt::format("layer_types has {} entries, expected num_hidden_layers = {}", given,
                            spec.shape.num_layers));
    }
    spec.local_layers.clear();
    for (const std::string& type : options.layer_types) {
      spec.local_layers.push_back(type == "sliding_attention");
    }
  }
  const auto& layers = spec.local_layers;
  const bool has_local = std::find(layers.begin(), layers.end(), true) != layers.end();
  if (has_local && !options.sliding_window) {
    throw layer_types_error(
        path,
        "sliding_window is null, but some layers are local; give a number of positions, or "
        "layer_types without sliding_attention");
  }
  spec.attention.window = has_local ? *options.sliding_window : 0;
}

void set_windows(const WindowOptions& options, const std::string& path, DecoderSpec& spec) {
  const auto num_layers = static_cast<size_t>(spec.shape.num_layers);
  set_windows(options, std::vector<bool>(num_layers, options.sliding_window.has_value()), path,
              spec);
}

bool has_mixed_windows(const DecoderSpec& spec) {
  if (spec.attention.window == 0) return false;
  for (int64_t i = 0; i < spec.shape.num_layers; ++i) {
    if (!spec.is_local(i)) return true;
  }
  return false;
}

std::vector<std::string> layer_types_of(const DecoderSpec& spec) {
  std::vector<std::string> types;
  for (int64_t i = 0; i < spec.shape.num_layers; ++i) {
    types.emplace_back(spec.is_local(i) ? "sliding_attention" : "full_attention");
  }
  return types;
}

}  // namespace s2s
