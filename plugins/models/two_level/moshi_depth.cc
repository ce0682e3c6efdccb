#include "moshi_depth.h"

#include <ATen/ATen.h>

#include "s2s/error.h"
#include "s2s/nn/transformer.h"

namespace s2s::two_level {
namespace {

Init weight_init(const DecoderSpec& spec) { return {Init::Kind::kNormal, spec.initializer_range}; }

}  // namespace

DepthAttention::DepthAttention(const DecoderSpec& spec, int64_t books, int64_t layer)
    : q_proj_(books, spec.shape.hidden_size, spec.shape.num_attention_heads * spec.shape.head_dim,
              weight_init(spec)),
      k_proj_(books, spec.shape.hidden_size, spec.shape.num_key_value_heads * spec.shape.head_dim,
              weight_init(spec)),
      v_proj_(books, spec.shape.hidden_size, spec.shape.num_key_value_heads * spec.shape.head_dim,
              weight_init(spec)),
      o_proj_(books, spec.shape.num_attention_heads * spec.shape.head_dim, spec.shape.hidden_size,
              weight_init(spec)),
      head_dim_(spec.shape.head_dim),
      num_groups_(spec.shape.num_attention_heads / spec.shape.num_key_value_heads),
      layer_(layer) {
  register_block("q_proj.linear", q_proj_);
  register_block("k_proj.linear", k_proj_);
  register_block("v_proj.linear", v_proj_);
  register_block("o_proj.linear", o_proj_);
}

DepthAttention::~DepthAttention() = default;

at::Tensor DepthAttention::forward(const at::Tensor& x_NKC, DepthCache* cache, int64_t first) {
  const at::Tensor q = to_heads(q_proj_(x_NKC, first), head_dim_);
  at::Tensor k = to_heads(k_proj_(x_NKC, first), head_dim_);
  at::Tensor v = to_heads(v_proj_(x_NKC, first), head_dim_);
  if (cache != nullptr) {
    auto& [keys, values] = cache->layers.at(static_cast<size_t>(layer_));
    if (first > 0) {
      k = at::cat({keys, k}, 2);
      v = at::cat({values, v}, 2);
    }
    keys = k;
    values = v;
  }
  S2S_ASSERT(first == 0 || q.size(2) == 1, "books after a cache come one by one");
  if (num_groups_ > 1) {
    k = k.repeat_interleave(num_groups_, 1);
    v = v.repeat_interleave(num_groups_, 1);
  }
  const bool is_causal = q.size(2) > 1;
  const at::Tensor y = at::scaled_dot_product_attention(q, k, v, {}, 0.0, is_causal);
  return o_proj_(from_heads(y), first);
}

DepthLayer::DepthLayer(const DecoderSpec& spec, int64_t books, int64_t layer)
    : input_layernorm_(spec.shape.hidden_size, spec.norm_eps),
      post_attention_layernorm_(spec.shape.hidden_size, spec.norm_eps),
      self_attn_(spec, books, layer),
      fc1_(books, spec.shape.hidden_size, 2 * spec.shape.intermediate_size, weight_init(spec)),
      fc2_(books, spec.shape.intermediate_size, spec.shape.hidden_size, weight_init(spec)) {
  register_block("input_layernorm", input_layernorm_);
  register_block("self_attn", self_attn_);
  register_block("post_attention_layernorm", post_attention_layernorm_);
  register_block("mlp.fc1", fc1_);
  register_block("mlp.fc2", fc2_);
}

DepthLayer::~DepthLayer() = default;

at::Tensor DepthLayer::forward(const at::Tensor& x_NKC, DepthCache* cache, int64_t first) {
  const at::Tensor y_NKC = x_NKC + self_attn_(input_layernorm_(x_NKC), cache, first);
  const auto halves = fc1_(post_attention_layernorm_(y_NKC), first).chunk(2, -1);
  return y_NKC + fc2_(at::silu(halves[0]) * halves[1], first);
}

MoshiDepth::MoshiDepth(const DecoderSpec& spec, int64_t text_vocab, int64_t audio_vocab,
                       int64_t books, int64_t main_hidden)
    : lm_heads(books, spec.shape.hidden_size, audio_vocab, weight_init(spec)),
      text_embed_tokens_(text_vocab + 1, spec.shape.hidden_size, weight_init(spec)),
      input_projections_(books, main_hidden, spec.shape.hidden_size, weight_init(spec)) {
  register_block("text_embed_tokens", text_embed_tokens_);
  for (int64_t k = 0; k + 1 < books; ++k) {
    embed_tokens_.push_back(
        std::make_unique<Embedding>(audio_vocab + 1, spec.shape.hidden_size, weight_init(spec)));
    register_block("embed_tokens." + std::to_string(k), *embed_tokens_.back());
  }
  register_block("input_projections", input_projections_);
  for (int64_t i = 0; i < spec.shape.num_layers; ++i) {
    layers_.push_back(std::make_unique<DepthLayer>(spec, books, i));
    register_block("layers." + std::to_string(i), *layers_.back());
  }
  register_block("lm_heads", lm_heads);
}

MoshiDepth::~MoshiDepth() = default;

at::Tensor MoshiDepth::forward(const at::Tensor& state_NH, const DepthInput& input) {
  const int64_t first = input.cache != nullptr ? input.cache->length : 0;
  const int64_t count = input.ids_NK.size(1);
  std::vector<at::Tensor> embedded;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t book = first + i;
    Embedding& table =
        book == 0 ? text_embed_tokens_ : *embed_tokens_.at(static_cast<size_t>(book - 1));
    embedded.push_back(table(input.ids_NK.select(1, i)));
  }
  const at::Tensor states_NKH = state_NH.unsqueeze(1).expand({-1, count, -1});
  at::Tensor x_NKC = at::stack(embedded, 1) + input_projections_(states_NKH, first);
  for (const auto& layer : layers_) x_NKC = (*layer)(x_NKC, input.cache, first);
  if (input.cache != nullptr) input.cache->length += count;
  return x_NKC;
}

}  // namespace s2s::two_level
