#include "s2s/nn/decoder.h"

#include <ATen/ATen.h>

#include "nn/fused.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"

namespace s2s {
namespace {

Init normal_init(const DecoderSpec& spec) { return {Init::Kind::kNormal, spec.initializer_range}; }

std::unique_ptr<RmsNorm> further_norm(const DecoderSpec& spec) {
  return std::make_unique<RmsNorm>(spec.shape.hidden_size, spec.norm_eps, spec.norm_weight);
}

std::optional<RotaryTables> local_tables(const DecoderSpec& spec) {
  if (!spec.local_rotary) return {};
  return RotaryTables(*spec.local_rotary, spec.shape.head_dim);
}

}  // namespace

GatedMlp::GatedMlp(const DecoderSpec& spec)
    : gate_proj(spec.shape.hidden_size, spec.shape.intermediate_size, spec.mlp_bias,
                normal_init(spec)),
      up_proj(spec.shape.hidden_size, spec.shape.intermediate_size, spec.mlp_bias,
              normal_init(spec)),
      down_proj(spec.shape.intermediate_size, spec.shape.hidden_size, spec.mlp_bias,
                normal_init(spec)),
      activation_(spec.activation) {
  register_block("gate_proj", gate_proj);
  register_block("up_proj", up_proj);
  register_block("down_proj", down_proj);
}

GatedMlp::~GatedMlp() = default;

at::Tensor GatedMlp::forward(const at::Tensor& x_BTH) {
  const at::Tensor gate = gate_proj(x_BTH);
  const at::Tensor up = up_proj(x_BTH);
  return down_proj(activation_ == GateActivation::kSilu ? swiglu(gate, up) : geglu(gate, up));
}

DecoderLayer::DecoderLayer(const DecoderSpec& spec, int64_t layer)
    : input_layernorm(spec.shape.hidden_size, spec.norm_eps, spec.norm_weight),
      self_attn(spec, layer),
      post_attention_layernorm(spec.shape.hidden_size, spec.norm_eps, spec.norm_weight),
      mlp(spec) {
  register_block("input_layernorm", input_layernorm);
  register_block("self_attn", self_attn);
  register_block("post_attention_layernorm", post_attention_layernorm);
  register_block("mlp", mlp);
  if (!spec.post_norms) return;
  pre_feedforward_layernorm = further_norm(spec);
  post_feedforward_layernorm = further_norm(spec);
  register_block("pre_feedforward_layernorm", *pre_feedforward_layernorm);
  register_block("post_feedforward_layernorm", *post_feedforward_layernorm);
}

DecoderLayer::~DecoderLayer() = default;

at::Tensor DecoderLayer::forward(const at::Tensor& x_BTH, const SequenceInfo& info) {
  const at::Tensor attended_BTH = self_attn(input_layernorm(x_BTH), info);
  if (!pre_feedforward_layernorm) {
    const at::Tensor y_BTH = x_BTH + attended_BTH;
    return y_BTH + mlp(post_attention_layernorm(y_BTH));
  }
  const at::Tensor y_BTH = x_BTH + post_attention_layernorm(attended_BTH);
  return y_BTH + (*post_feedforward_layernorm)(mlp((*pre_feedforward_layernorm)(y_BTH)));
}

Decoder::Decoder(DecoderSpec spec)
    : spec_(std::move(spec)),
      embed_tokens_(spec_.shape.vocab_size, spec_.shape.hidden_size, normal_init(spec_),
                    spec_.padding_idx),
      norm_(spec_.shape.hidden_size, spec_.norm_eps, spec_.norm_weight),
      rotary_(spec_.rotary, spec_.shape.head_dim),
      local_rotary_(local_tables(spec_)) {
  register_block("embed_tokens", embed_tokens_);
  for (int64_t i = 0; i < spec_.shape.num_layers; ++i) {
    layers_.push_back(std::make_unique<DecoderLayer>(spec_, i));
    register_block("layers." + std::to_string(i), *layers_.back());
  }
  register_block("norm", norm_);
  if (!spec_.shape.tied_head) {
    lm_head_ = std::make_unique<Linear>(spec_.shape.hidden_size, spec_.shape.vocab_size, false,
                                        normal_init(spec_));
    register_block("lm_head", *lm_head_);
  }
  own_ = named_parameters();
}

Decoder::~Decoder() = default;

at::Tensor Decoder::embed(const at::Tensor& ids_BT) {
  const at::Tensor rows_BTH = embed_tokens_(ids_BT);
  if (spec_.embedding_scale == 1) return rows_BTH;
  // Rounded to float32 first, as transformers keeps it.
  const at::TensorOptions wide = rows_BTH.options().dtype(at::kFloat);
  const at::Tensor scale = at::scalar_tensor(spec_.embedding_scale, wide);
  return rows_BTH * scale.to(embed_tokens_.weight.scalar_type());
}

HeadWeight Decoder::head() { return lm_head_ ? lm_head_->head() : embed_tokens_.head(); }

at::Tensor Decoder::logits(const at::Tensor& hidden, bool soft_cap) {
  const at::Tensor plain = head_logits(hidden, head());
  const double cap = spec_.logit_soft_cap;
  return soft_cap && cap > 0 ? (plain / cap).tanh() * cap : plain;
}

at::Tensor Decoder::forward(const at::Tensor& x_BTH, const SequenceInfo& info) {
  const int64_t begin = info.cache != nullptr ? info.cache->length() : 0;
  SequenceInfo here = info;
  std::tie(here.cos_TD, here.sin_TD) = rotary_.at_positions(begin, x_BTH.size(1), x_BTH.device());
  SequenceInfo local = here;
  if (local_rotary_) {
    std::tie(local.cos_TD, local.sin_TD) =
        local_rotary_->at_positions(begin, x_BTH.size(1), x_BTH.device());
  }
  at::Tensor hidden_BTH = x_BTH;
  for (int64_t i = 0; i < spec_.shape.num_layers; ++i) {
    DecoderLayer& layer = *layers_[static_cast<size_t>(i)];
    hidden_BTH = layer(hidden_BTH, spec_.is_local(i) ? local : here);
  }
  if (info.cache != nullptr) info.cache->advance(x_BTH.size(1));
  return norm_(hidden_BTH);
}

std::unique_ptr<WeightSource> Decoder::initial_values() {
  if (spec_.weights_path.empty()) return nullptr;
  return weight_source(own_, checkpoint_names(), WeightFiles::open(spec_.weights_path));
}

NameMap Decoder::checkpoint_names() const {
  NameMap map;
  map.rules = {{"lm_head.weight", "lm_head.weight"}, {"**", "model.**"}};
  map.ignored = {"model.layers.*.self_attn.rotary_emb.inv_freq"};  // files of transformers < 4.32
  if (spec_.shape.tied_head) map.ignored.push_back("lm_head.weight");
  if (spec_.other_parts.empty()) return map;
  // As transformers writes a language model inside a larger one, and as it calls it in memory.
  map.other_spellings = {{"lm_head.weight", "language_model.lm_head.weight"},
                         {"**", "language_model.model.**"},
                         {"**", "model.language_model.**"}};
  if (spec_.shape.tied_head) map.ignored.push_back("language_model.lm_head.weight");
  map.ignored.insert(map.ignored.end(), spec_.other_parts.begin(), spec_.other_parts.end());
  return map;
}

ShardPlan Decoder::plan_with(std::vector<TensorRow> rows, std::vector<UnitRow> units) const {
  ShardPlan plan;
  // What leaves the embedding is whole: a speech model adds the encoder's frames to it.
  plan.rows.push_back({"embed_tokens", Style::kVocab, Layout::kFull, Layout::kFull});
  plan.rows.insert(plan.rows.end(), rows.begin(), rows.end());
  if (lm_head_) plan.rows.push_back({"lm_head", Style::kVocab, Layout::kFull, Layout::kLast});
  // The embedding and the head as units of their own: they are as large as several layers.
  plan.units = {{"embed_tokens"}};
  plan.units.insert(plan.units.end(), units.begin(), units.end());
  if (lm_head_) plan.units.push_back({"lm_head"});
  const BackboneShape& shape = spec_.shape;
  plan.divisors = {{"num_attention_heads", shape.num_attention_heads},
                   {"num_key_value_heads", shape.num_key_value_heads},
                   {"intermediate_size", shape.intermediate_size}};
  plan.heads = {{lm_head_ ? "lm_head" : "embed_tokens"}};
  for (int64_t i = 0; i < shape.num_layers; ++i) {
    plan.attentions.push_back({"layers." + std::to_string(i) + ".self_attn",
                               shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim,
                               spec_.is_local(i) ? spec_.attention.window : 0,
                               spec_.attention.soft_cap > 0, spec_.qk_norm});
  }
  return plan;
}

}  // namespace s2s
