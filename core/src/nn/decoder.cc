#include "s2s/decoder.h"

#include <ATen/ATen.h>

#include "nn/fused.h"
#include "s2s/error.h"
#include "s2s/weights.h"

namespace s2s {
namespace {

Init normal_init(const DecoderFacts& facts) {
  return {Init::Kind::kNormal, facts.initializer_range};
}

std::unique_ptr<RmsNorm> further_norm(const DecoderFacts& facts) {
  return std::make_unique<RmsNorm>(facts.shape.hidden_size, facts.norm_eps, facts.norm_weight);
}

std::optional<RotaryTables> local_tables(const DecoderFacts& facts) {
  if (!facts.local_rotary) return {};
  return RotaryTables(*facts.local_rotary, facts.shape.head_dim);
}

}  // namespace

GatedMlp::GatedMlp(const DecoderFacts& facts)
    : gate_proj(facts.shape.hidden_size, facts.shape.intermediate_size, facts.mlp_bias,
                normal_init(facts)),
      up_proj(facts.shape.hidden_size, facts.shape.intermediate_size, facts.mlp_bias,
              normal_init(facts)),
      down_proj(facts.shape.intermediate_size, facts.shape.hidden_size, facts.mlp_bias,
                normal_init(facts)),
      activation_(facts.activation) {
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

DecoderLayer::DecoderLayer(const DecoderFacts& facts, int64_t layer)
    : input_layernorm(facts.shape.hidden_size, facts.norm_eps, facts.norm_weight),
      self_attn(facts, layer),
      post_attention_layernorm(facts.shape.hidden_size, facts.norm_eps, facts.norm_weight),
      mlp(facts) {
  register_block("input_layernorm", input_layernorm);
  register_block("self_attn", self_attn);
  register_block("post_attention_layernorm", post_attention_layernorm);
  register_block("mlp", mlp);
  if (!facts.post_norms) return;
  pre_feedforward_layernorm = further_norm(facts);
  post_feedforward_layernorm = further_norm(facts);
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

Decoder::Decoder(DecoderFacts facts)
    : facts_(std::move(facts)),
      embed_tokens_(facts_.shape.vocab_size, facts_.shape.hidden_size, normal_init(facts_),
                    facts_.padding_idx),
      norm_(facts_.shape.hidden_size, facts_.norm_eps, facts_.norm_weight),
      rotary_(facts_.rotary, facts_.shape.head_dim),
      local_rotary_(local_tables(facts_)) {
  register_block("embed_tokens", embed_tokens_);
  for (int64_t i = 0; i < facts_.shape.num_layers; ++i) {
    layers_.push_back(std::make_unique<DecoderLayer>(facts_, i));
    register_block("layers." + std::to_string(i), *layers_.back());
  }
  register_block("norm", norm_);
  if (!facts_.shape.tied_head) {
    lm_head_ = std::make_unique<Linear>(facts_.shape.hidden_size, facts_.shape.vocab_size, false,
                                        normal_init(facts_));
    register_block("lm_head", *lm_head_);
  }
  own_ = named_parameters();
}

Decoder::~Decoder() = default;

at::Tensor Decoder::embed(const at::Tensor& ids_BT) {
  const at::Tensor rows_BTH = embed_tokens_(ids_BT);
  if (facts_.embedding_scale == 1) return rows_BTH;
  // Rounded to float32 first, as transformers keeps it.
  const at::TensorOptions wide = rows_BTH.options().dtype(at::kFloat);
  const at::Tensor scale = at::scalar_tensor(facts_.embedding_scale, wide);
  return rows_BTH * scale.to(embed_tokens_.weight.scalar_type());
}

HeadWeight Decoder::head() { return lm_head_ ? lm_head_->head() : embed_tokens_.head(); }

at::Tensor Decoder::logits(const at::Tensor& hidden, bool soft_cap) {
  const at::Tensor plain = head_logits(hidden, head());
  const double cap = facts_.logit_soft_cap;
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
  for (int64_t i = 0; i < facts_.shape.num_layers; ++i) {
    DecoderLayer& layer = *layers_[static_cast<size_t>(i)];
    hidden_BTH = layer(hidden_BTH, facts_.is_local(i) ? local : here);
  }
  if (info.cache != nullptr) info.cache->advance(x_BTH.size(1));
  return norm_(hidden_BTH);
}

std::unique_ptr<StoredValues> Decoder::first_values() {
  if (facts_.weights_path.empty()) return nullptr;
  return stored_values(own_, checkpoint_names(), WeightFiles::open(facts_.weights_path));
}

NameMap Decoder::checkpoint_names() const {
  NameMap map;
  map.rules = {{"lm_head.weight", "lm_head.weight"}, {"**", "model.**"}};
  map.ignored = {"model.layers.*.self_attn.rotary_emb.inv_freq"};  // files of transformers < 4.32
  if (facts_.shape.tied_head) map.ignored.push_back("lm_head.weight");
  if (facts_.other_parts.empty()) return map;
  // As transformers writes a language model inside a larger one, and as it calls it in memory.
  map.other_spellings = {{"lm_head.weight", "language_model.lm_head.weight"},
                         {"**", "language_model.model.**"},
                         {"**", "model.language_model.**"}};
  if (facts_.shape.tied_head) map.ignored.push_back("language_model.lm_head.weight");
  map.ignored.insert(map.ignored.end(), facts_.other_parts.begin(), facts_.other_parts.end());
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
  const BackboneShape& shape = facts_.shape;
  plan.divisors = {{"num_attention_heads", shape.num_attention_heads},
                   {"num_key_value_heads", shape.num_key_value_heads},
                   {"intermediate_size", shape.intermediate_size}};
  plan.heads = {{lm_head_ ? "lm_head" : "embed_tokens"}};
  for (int64_t i = 0; i < shape.num_layers; ++i) {
    plan.attentions.push_back({"layers." + std::to_string(i) + ".self_attn",
                               shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim,
                               facts_.is_local(i) ? facts_.attention.window : 0,
                               facts_.attention.soft_cap > 0, facts_.qk_norm});
  }
  return plan;
}

}  // namespace s2s
