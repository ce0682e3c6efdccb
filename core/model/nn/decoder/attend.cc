#include "nn/decoder/attend.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/parallel_rows.h"
#include "nn/attention_choice.h"
#include "nn/decoder/capped_attention.h"
#include "nn/kernels/decode_attention.h"
#include "nn/operators.h"

namespace s2s {
namespace {

/// Repeats key/value heads [B, kv, T, D] for every query head that shares them.
at::Tensor repeat_heads(const at::Tensor& x, int64_t times) {
  if (times == 1) return x;
  return x.unsqueeze(2)
      .expand({x.size(0), x.size(1), times, x.size(2), x.size(3)})
      .reshape({x.size(0), x.size(1) * times, x.size(2), x.size(3)});
}

/// Returns true for keys or values in the layout that `rows::OneQuery` needs: positions and
/// elements contiguous.
bool is_cache_like(const at::Tensor& x, const at::Tensor& like) {
  return x.is_cpu() && x.scalar_type() == like.scalar_type() && x.stride(3) == 1 &&
         x.stride(2) == x.size(3) && x.strides().equals(like.strides());
}

template <class T>
at::Tensor attend_one_of(const at::Tensor& q_BH1D, const at::Tensor& k, const at::Tensor& v,
                         const AttentionSpec& spec) {
  const at::Tensor q = q_BH1D.contiguous();
  const at::Tensor y = at::empty_like(q);
  const int64_t dim = q.size(3);
  const rows::OneQuery<T> job{q.const_data_ptr<T>(),
                              k.const_data_ptr<T>(),
                              v.const_data_ptr<T>(),
                              y.mutable_data_ptr<T>(),
                              k.size(1),
                              q.size(1) / k.size(1),
                              k.size(2),
                              dim,
                              k.stride(0),
                              k.stride(1),
                              static_cast<float>(scale_of(q, spec)),
                              static_cast<float>(spec.soft_cap)};
  parallel_rows(q.size(0) * k.size(1), 4,
                [&](int64_t begin, int64_t end) { rows::run(job, begin, end); });
  return y;
}

/// Attention of a single new position. The query heads that share a key/value head are treated as
/// positions, so no keys or values are repeated.
/// Shapes: visible [B, S] bool, or undefined for all.
at::Tensor attend_grouped(const at::Tensor& q_BH1D, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& visible_BS, const AttentionSpec& spec) {
  const at::Tensor grouped =
      q_BH1D.reshape({q_BH1D.size(0), k.size(1), q_BH1D.size(1) / k.size(1), q_BH1D.size(3)});
  std::optional<at::Tensor> mask;
  if (visible_BS.defined()) mask = visible_BS.unsqueeze(1).unsqueeze(1);
  at::Tensor y;
  if (spec.soft_cap > 0) {
    y = attend_capped(grouped, k, v, mask.value_or(at::Tensor()), spec);
  } else {
    y = at::scaled_dot_product_attention(grouped, k, v, mask, 0.0, /*is_causal=*/false,
                                         scale_of(q_BH1D, spec));
  }
  return y.reshape_as(q_BH1D);
}

/// Attention of a single new position that sees all keys.
at::Tensor attend_one(const at::Tensor& q_BH1D, const at::Tensor& k, const at::Tensor& v,
                      const AttentionSpec& spec) {
  const int64_t dim = q_BH1D.size(3);
  const at::ScalarType type = q_BH1D.scalar_type();
  if (!is_plain_attention() && is_cache_like(k, v) && is_cache_like(v, k) &&
      k.scalar_type() == type && dim <= rows::kMostDim) {
    if (type == at::kFloat && dim % rows::kDimStep<float> == 0) {
      return attend_one_of<float>(q_BH1D, k, v, spec);
    }
    if (type == at::kBFloat16 && dim % rows::kDimStep<at::BFloat16> == 0) {
      return attend_one_of<at::BFloat16>(q_BH1D, k, v, spec);
    }
  }
  return attend_grouped(q_BH1D, k, v, {}, spec);
}

/// Returns [T, S] bool: which of S keys each of the T newest positions sees.
at::Tensor visible_keys(int64_t num_new, int64_t num_all, int64_t window, at::Device device) {
  const int64_t before = num_all - num_new;
  const at::Tensor past =
      at::ones({num_new, num_all}, at::TensorOptions(device).dtype(at::kBool)).tril(before);
  return window > 0 ? past.triu(before - window + 1) : past;
}

/// LibTorch's flash kernel knows windows and shared heads, and stores no mask. Not every type of
/// device has it.
bool has_flash(const at::Tensor& q) {
  if (q.is_cpu() || (q.scalar_type() != at::kBFloat16 && q.scalar_type() != at::kHalf))
    return false;
  if (is_plain_attention()) return false;
  static const c10::OperatorHandle flash =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::_flash_attention_forward", "");
  return is_implemented(flash, q) && q.size(-1) % 8 == 0 && q.size(-1) <= 256;
}

/// The newest positions see `window` positions, themselves included.
at::Tensor flash_in_window(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const AttentionSpec& spec) {
  const at::Tensor y_BTHD = std::get<0>(at::_flash_attention_forward(
      q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), {}, {}, q.size(2), k.size(2),
      /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false, scale_of(q, spec),
      /*window_size_left=*/spec.window - 1, /*window_size_right=*/0));
  return y_BTHD.transpose(1, 2);
}

/// One query of each row. The kernel reads on the device how many keys a row has; a window is the
/// size of the memory.
at::Tensor flash_in_places(const at::Tensor& q_BH1D, const FixedReach& reach,
                           const AttentionSpec& spec) {
  const auto rows = [](const at::Tensor& x_BHSD) { return x_BHSD.transpose(1, 2).flatten(0, 1); };
  const at::Tensor y_BHD = std::get<0>(at::_flash_attention_forward(
      rows(q_BH1D), rows(reach.keys), rows(reach.values), reach.query_begins, reach.key_begins,
      /*max_q=*/1, /*max_k=*/reach.keys.size(2), /*dropout_p=*/0.0, /*is_causal=*/false,
      /*return_debug_mask=*/false, scale_of(q_BH1D, spec), /*window_size_left=*/{},
      /*window_size_right=*/{}, reach.used_R));
  return y_BHD.unsqueeze(2);
}

/// The last `count` positions of [B, kv, S, D].
at::Tensor newest(const at::Tensor& x, int64_t count) {
  return x.size(2) == count ? x : x.narrow(2, x.size(2) - count, count);
}

}  // namespace

at::Tensor attend(const at::Tensor& q, const at::Tensor& k_all, const at::Tensor& v_all,
                  const AttentionSpec& spec) {
  const int64_t num_new = q.size(2);
  // No position sees the keys before the window of the first new position.
  const int64_t reach =
      spec.window > 0 ? std::min(k_all.size(2), spec.window - 1 + num_new) : k_all.size(2);
  const at::Tensor k = newest(k_all, reach);
  const at::Tensor v = newest(v_all, reach);
  const bool wants_gradient =
      at::GradMode::is_enabled() && (q.requires_grad() || k.requires_grad() || v.requires_grad());
  if (num_new == 1 && !wants_gradient) return attend_one(q, k, v, spec);
  const bool is_causal = num_new == reach && (spec.window == 0 || reach <= spec.window);
  const bool flash = has_flash(q) && spec.soft_cap == 0 && spec.dropout == 0;
  if (!is_causal || spec.soft_cap > 0) {
    note_other_attention(q, flash ? AttentionBackend::kFlash : AttentionBackend::kMath,
                         spec.soft_cap > 0 ? "a soft cap" : "a window or a cache");
  }
  if (flash && !is_causal && spec.window > 0) return flash_in_window(q, k, v, spec);
  const bool repeats = !(flash && is_causal);
  const int64_t shared = q.size(1) / k.size(1);
  const at::Tensor keys = repeats ? repeat_heads(k, shared) : k;
  const at::Tensor values = repeats ? repeat_heads(v, shared) : v;
  const auto visible = [&] { return visible_keys(num_new, reach, spec.window, q.device()); };
  if (spec.soft_cap > 0) return attend_capped(q, keys, values, visible(), spec);
  if (is_causal && wants_gradient) {
    return chosen_attention(q, keys, values, spec.dropout, scale_of(q, spec));
  }
  std::optional<at::Tensor> mask;
  if (!is_causal) mask = visible();
  return at::scaled_dot_product_attention(q, keys, values, mask, spec.dropout, is_causal,
                                          scale_of(q, spec),
                                          /*enable_gqa=*/keys.size(1) != q.size(1));
}

at::Tensor attend_documents(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const SequenceInfo& info, const AttentionSpec& spec) {
  std::vector<int64_t> lengths;
  for (const DocumentSpan& document : *info.documents) lengths.push_back(document.length);
  if (has_flash(q) && spec.soft_cap == 0 && spec.dropout == 0) {
    note_other_attention(q, AttentionBackend::kFlash, "packed documents");
    const auto rows = [](const at::Tensor& x) { return x.transpose(1, 2).squeeze(0); };
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    std::optional<int64_t> left, right;
    if (spec.window > 0) {
      left = spec.window - 1;
      right = 0;
    }
    const at::Tensor y_THD = std::get<0>(at::_flash_attention_forward(
        rows(q), rows(k), rows(v), info.document_begins, info.document_begins, longest, longest,
        /*dropout_p=*/0.0, /*is_causal=*/true, /*return_debug_mask=*/false, scale_of(q, spec), left,
        right));
    return y_THD.unsqueeze(0).transpose(1, 2);
  }
  const std::vector<at::Tensor> queries = q.split_with_sizes(lengths, 2);
  const std::vector<at::Tensor> keys = k.split_with_sizes(lengths, 2);
  const std::vector<at::Tensor> values = v.split_with_sizes(lengths, 2);
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < lengths.size(); ++i) {
    parts.push_back(attend(queries[i], keys[i], values[i], spec));
  }
  return at::cat(parts, 2);
}

at::Tensor attend_fixed(const at::Tensor& q_BH1D, const FixedReach& reach,
                        const AttentionSpec& spec) {
  if (has_flash(q_BH1D) && spec.soft_cap == 0) return flash_in_places(q_BH1D, reach, spec);
  return attend_grouped(q_BH1D, reach.keys, reach.values, reach.visible_RS, spec);
}

}  // namespace s2s
