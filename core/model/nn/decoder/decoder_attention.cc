#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "nn/decoder/attend.h"
#include "nn/fused.h"
#include "s2s/error.h"
#include "s2s/kinds/backbone.h"
#include "s2s/nn/decoder.h"

namespace s2s {
namespace {

/// [B, T, heads * D] -> [B, T, heads, D].
at::Tensor split_heads(const at::Tensor& x, int64_t head_dim) {
  return x.view({x.size(0), x.size(1), -1, head_dim});
}

/// Returns the attention settings of a layer. Only local layers have a window.
AttentionSpec attention_of(const DecoderSpec& spec, int64_t layer) {
  AttentionSpec attention = spec.attention;
  if (!spec.is_local(layer)) attention.window = 0;
  return attention;
}

constexpr int64_t kFirstFrames = 64;

/// Moves the kept positions to the start of a memory for at least `needed` positions. Reuses the
/// same memory when it is at least twice as large. Moving then costs less than appending.
at::Tensor moved_to_front(const at::Tensor& memory, const at::Tensor& kept, int64_t needed,
                          const at::Tensor& like) {
  const int64_t before = memory.defined() ? memory.size(2) : kFirstFrames / 2;
  std::vector<int64_t> sizes = like.sizes().vec();
  sizes[2] = std::max(2 * before, needed);
  const bool has_room = memory.defined() && 2 * needed <= before;
  const at::Tensor target = has_room ? memory : at::empty(sizes, like.options());
  if (kept.defined() && kept.size(2) > 0) {
    target.narrow(2, 0, kept.size(2)).copy_(has_room ? kept.clone() : kept);
  }
  return target;
}

at::Tensor part_of(const at::Tensor& memory, int64_t begin, int64_t count) {
  return memory.defined() ? memory.narrow(2, begin, count) : memory;
}

}  // namespace

GroupedQueryAttention::GroupedQueryAttention(const DecoderSpec& spec, int64_t layer)
    : q_proj(spec.shape.hidden_size, spec.shape.num_attention_heads * spec.shape.head_dim,
             spec.qkv_bias, Init{Init::Kind::kNormal, spec.initializer_range}),
      k_proj(spec.shape.hidden_size, spec.shape.num_key_value_heads * spec.shape.head_dim,
             spec.qkv_bias, Init{Init::Kind::kNormal, spec.initializer_range}),
      v_proj(spec.shape.hidden_size, spec.shape.num_key_value_heads * spec.shape.head_dim,
             spec.qkv_bias, Init{Init::Kind::kNormal, spec.initializer_range}),
      o_proj(spec.shape.num_attention_heads * spec.shape.head_dim, spec.shape.hidden_size,
             spec.o_bias, Init{Init::Kind::kNormal, spec.initializer_range}),
      layer_(layer),
      head_dim_(spec.shape.head_dim),
      attention_(attention_of(spec, layer)) {
  register_block("q_proj", q_proj);
  register_block("k_proj", k_proj);
  register_block("v_proj", v_proj);
  register_block("o_proj", o_proj);
  if (!spec.qk_norm) return;
  q_norm = std::make_unique<RmsNorm>(head_dim_, spec.norm_eps, spec.norm_weight);
  k_norm = std::make_unique<RmsNorm>(head_dim_, spec.norm_eps, spec.norm_weight);
  register_block("q_norm", *q_norm);
  register_block("k_norm", *k_norm);
}

GroupedQueryAttention::~GroupedQueryAttention() = default;

at::Tensor GroupedQueryAttention::forward(const at::Tensor& x_BTH, const SequenceInfo& info) {
  const auto turned = [&](Linear& projection, RmsNorm* norm) {
    const at::Tensor heads = split_heads(projection(x_BTH), head_dim_);
    return rotate(norm ? (*norm)(heads) : heads, info.cos_TD, info.sin_TD).transpose(1, 2);
  };
  const at::Tensor q = turned(q_proj, q_norm.get());
  at::Tensor k = turned(k_proj, k_norm.get());
  at::Tensor v = split_heads(v_proj(x_BTH), head_dim_).transpose(1, 2);
  if (info.cache != nullptr) {
    std::tie(k, v) = info.cache->append(layer_, k, v, attention_.window);
  }
  const at::Tensor y_BTHD = attend(q, k, v, attention_).transpose(1, 2);
  return o_proj(y_BTHD.reshape({y_BTHD.size(0), y_BTHD.size(1), -1}));
}

KvCache::KvCache(int64_t num_layers) : entries_(static_cast<size_t>(num_layers)) {}

std::pair<at::Tensor, at::Tensor> KvCache::append(int64_t layer, const at::Tensor& k,
                                                  const at::Tensor& v, int64_t window) {
  S2S_ASSERT(layer >= 0 && layer < static_cast<int64_t>(entries_.size()), "layer is in the model");
  const at::NoGradGuard no_grad;
  Entry& entry = entries_[static_cast<size_t>(layer)];
  const int64_t kept = window > 0 ? std::min(entry.used, window - 1) : entry.used;
  entry.begin += entry.used - kept;
  entry.used = kept + k.size(2);
  if (!entry.k.defined() || entry.k.size(2) < entry.begin + entry.used) {
    entry.k = moved_to_front(entry.k, part_of(entry.k, entry.begin, kept), entry.used, k);
    entry.v = moved_to_front(entry.v, part_of(entry.v, entry.begin, kept), entry.used, v);
    entry.begin = 0;
  }
  entry.k.narrow(2, entry.begin + kept, k.size(2)).copy_(k);
  entry.v.narrow(2, entry.begin + kept, v.size(2)).copy_(v);
  return {part_of(entry.k, entry.begin, entry.used), part_of(entry.v, entry.begin, entry.used)};
}

void KvCache::clear() {
  for (Entry& entry : entries_) entry = {};
  length_ = 0;
}

}  // namespace s2s
