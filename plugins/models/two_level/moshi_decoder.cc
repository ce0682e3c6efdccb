#include "moshi_decoder.h"

#include <ATen/ATen.h>

namespace s2s::two_level {
namespace {

Init normal_init(const DecoderSpec& spec) { return {Init::Kind::kNormal, spec.initializer_range}; }

using enum Layout;
using enum Style;
// key/value heads may be replicated on several ranks
constexpr const char* kKvHeads = "num_key_value_heads";

// clang-format off
std::vector<TensorRow> tensor_rows() {
  return {
      {"embed_tokens",                      kVocab,     kFull, kFull},
      {"layers.0",                          kBoundary,  kFull, kSeq },
      {"layers.*.input_layernorm",          kSequence,  kSeq,  kSeq },
      {"layers.*.self_attn",                kBoundary,  kSeq,  kFull},
      {"layers.*.self_attn.q_proj",         kColwise,   kFull, kLast},
      {"layers.*.self_attn.k_proj",         kColwise,   kFull, kLast, kKvHeads},
      {"layers.*.self_attn.v_proj",         kColwise,   kFull, kLast, kKvHeads},
      {"layers.*.self_attn.o_proj",         kRowwise,   kLast, kSeq },
      {"layers.*.post_attention_layernorm", kSequence,  kSeq,  kSeq },
      {"layers.*.mlp",                      kBoundary,  kSeq,  kFull},
      {"layers.*.mlp.fc1",                  kColwise,   kFull, kLast, "", 2},
      {"layers.*.mlp.fc2",                  kRowwise,   kLast, kSeq },
      {"norm",                              kSequence,  kSeq,  kFull},
  };
}
// clang-format on

}  // namespace

PackedMlp::PackedMlp(const DecoderSpec& spec)
    : fc1(spec.shape.hidden_size, 2 * spec.shape.intermediate_size, false, normal_init(spec)),
      fc2(spec.shape.intermediate_size, spec.shape.hidden_size, false, normal_init(spec)) {
  register_block("fc1", fc1);
  register_block("fc2", fc2);
}

PackedMlp::~PackedMlp() = default;

at::Tensor PackedMlp::forward(const at::Tensor& x_BTH) {
  const auto halves = fc1(x_BTH).chunk(2, -1);
  return fc2(at::silu(halves[0]) * halves[1]);
}

MoshiLayer::MoshiLayer(const DecoderSpec& spec, int64_t layer)
    : input_layernorm(spec.shape.hidden_size, spec.norm_eps),
      self_attn(spec, layer),
      post_attention_layernorm(spec.shape.hidden_size, spec.norm_eps),
      mlp(spec) {
  register_block("input_layernorm", input_layernorm);
  register_block("self_attn", self_attn);
  register_block("post_attention_layernorm", post_attention_layernorm);
  register_block("mlp", mlp);
}

MoshiLayer::~MoshiLayer() = default;

at::Tensor MoshiLayer::forward(const at::Tensor& x_BTH, const SequenceInfo& info) {
  const at::Tensor attended_BTH = self_attn(input_layernorm(x_BTH), info);
  const auto [y_BTH, normed_BTH] = post_attention_layernorm.of_sum(x_BTH, attended_BTH);
  return y_BTH + mlp(normed_BTH);
}

MoshiDecoder::MoshiDecoder(DecoderSpec spec)
    : embed_tokens(spec.shape.vocab_size + 1, spec.shape.hidden_size, normal_init(spec),
                   spec.padding_idx),
      spec_(std::move(spec)),
      norm_(spec_.shape.hidden_size, spec_.norm_eps),
      rotary_(spec_.rotary, spec_.shape.head_dim) {
  register_block("embed_tokens", embed_tokens);
  for (int64_t i = 0; i < spec_.shape.num_layers; ++i) {
    layers_.push_back(std::make_unique<MoshiLayer>(spec_, i));
    register_block("layers." + std::to_string(i), *layers_.back());
  }
  register_block("norm", norm_);
}

MoshiDecoder::~MoshiDecoder() = default;

at::Tensor MoshiDecoder::forward(const at::Tensor& x_BTH, const SequenceInfo& info) {
  SequenceInfo here = info;
  std::tie(here.cos_TD, here.sin_TD) = rotary_.at_positions(
      info.cache != nullptr ? info.cache->length() : 0, x_BTH.size(1), x_BTH.device());
  at::Tensor hidden_BTH = x_BTH;
  for (const auto& layer : layers_) hidden_BTH = (*layer)(hidden_BTH, here);
  if (info.cache != nullptr) info.cache->advance(x_BTH.size(1));
  return norm_(hidden_BTH);
}

ShardPlan MoshiDecoder::configure_model() const {
  ShardPlan plan;
  plan.rows = tensor_rows();
  plan.units = {{"embed_tokens"}, {"layers.*"}};
  const BackboneShape& shape = spec_.shape;
  plan.divisors = {{"num_attention_heads", shape.num_attention_heads},
                   {"num_key_value_heads", shape.num_key_value_heads},
                   {"ffn_dim / 2", shape.intermediate_size}};
  for (int64_t i = 0; i < shape.num_layers; ++i) {
    plan.attentions.push_back({"layers." + std::to_string(i) + ".self_attn",
                               shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim,
                               spec_.is_local(i) ? spec_.attention.window : 0});
  }
  return plan;
}

}  // namespace s2s::two_level
