// Rotary position embedding of queries and keys. If a device has no implementation of the operator,
// ATen's operators compute the same formula.

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include "nn/fused.h"
#include "nn/joined_linear.h"
#include "nn/operators.h"

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

/// Elements of a head must be adjacent; heads and rows may be apart.
at::Tensor adjacent(const at::Tensor& x_BTHD) {
  return x_BTHD.stride(3) == 1 ? x_BTHD : x_BTHD.contiguous();
}

class RotateQkFunction : public Function<RotateQkFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& cos, const at::Tensor& sin) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->save_for_backward({cos, sin});
    return turned(q, k, cos, sin, /*is_inverse=*/false);
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const variable_list saved = context->get_saved_variables();
    variable_list grads = turned(outputs[0], outputs[1], saved[0], saved[1], /*is_inverse=*/true);
    grads.resize(4);
    return grads;
  }

 private:
  static variable_list turned(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos,
                              const at::Tensor& sin, bool is_inverse) {
    const auto [new_q, new_k] =
        operators().rotate_qk.call(adjacent(q), adjacent(k), cos, sin, is_inverse);
    return {new_q, new_k};
  }
};

/// [B, T, W] -> queries, keys and values as views of it.
variable_list heads_of(const at::Tensor& qkv, int64_t head_dim, const HeadCounts& heads) {
  return qkv.view({qkv.size(0), qkv.size(1), -1, head_dim})
      .split_with_sizes({heads.num_heads, heads.num_kv_heads, heads.num_kv_heads}, 2);
}

class RotateQkvFunction : public Function<RotateQkvFunction> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& qkv,
                               const at::Tensor& cos, const at::Tensor& sin,
                               const HeadCounts& heads) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    context->save_for_backward({cos, sin});
    operators().rotate_qkv_.call(qkv, cos, sin, heads.num_heads, heads.num_kv_heads);
    return heads_of(qkv, cos.size(1), heads);
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const variable_list saved = context->get_saved_variables();
    return {operators().rotate_qkv_backward.call(adjacent(outputs[0]), adjacent(outputs[1]),
                                                 adjacent(outputs[2]), saved[0], saved[1]),
            {},
            {},
            {}};
  }
};

bool are_tables(const at::Tensor& cos_TD, const at::Tensor& sin_TD) {
  return cos_TD.scalar_type() == at::kFloat && cos_TD.is_contiguous() && sin_TD.is_contiguous();
}

at::Tensor rotate_plain(const at::Tensor& x_BTHD, const at::Tensor& cos_TD,
                        const at::Tensor& sin_TD) {
  const at::Tensor cos = cos_TD.to(x_BTHD.scalar_type()).unsqueeze(1);
  const at::Tensor sin = sin_TD.to(x_BTHD.scalar_type()).unsqueeze(1);
  const auto halves = x_BTHD.chunk(2, -1);
  return x_BTHD * cos + at::cat({-halves[1], halves[0]}, -1) * sin;
}

}  // namespace

std::pair<at::Tensor, at::Tensor> rotate_qk_plain(const at::Tensor& q_BTHD,
                                                  const at::Tensor& k_BTHD,
                                                  const at::Tensor& cos_TD,
                                                  const at::Tensor& sin_TD) {
  return {rotate_plain(q_BTHD, cos_TD, sin_TD), rotate_plain(k_BTHD, cos_TD, sin_TD)};
}

std::pair<at::Tensor, at::Tensor> rotate_qk(const at::Tensor& q_BTHD, const at::Tensor& k_BTHD,
                                            const at::Tensor& cos_TD, const at::Tensor& sin_TD) {
  const bool is_fused = has_kernel(operators().rotate_qk, q_BTHD) && q_BTHD.numel() > 0 &&
                        k_BTHD.scalar_type() == q_BTHD.scalar_type() && are_tables(cos_TD, sin_TD);
  if (!is_fused) return rotate_qk_plain(q_BTHD, k_BTHD, cos_TD, sin_TD);
  const variable_list both = RotateQkFunction::apply(q_BTHD, k_BTHD, cos_TD, sin_TD);
  return {both[0], both[1]};
}

QkvHeads rotate_qkv(const at::Tensor& qkv_BTW, const at::Tensor& cos_TD, const at::Tensor& sin_TD,
                    const HeadCounts& heads) {
  const int64_t dim = cos_TD.size(1);
  if (has_kernel(operators().rotate_qkv_, qkv_BTW) && qkv_BTW.is_contiguous() &&
      qkv_BTW.numel() > 0 && are_tables(cos_TD, sin_TD)) {
    const variable_list parts = RotateQkvFunction::apply(qkv_BTW, cos_TD, sin_TD, heads);
    return {parts[0], parts[1], parts[2]};
  }
  const int64_t kv_width = heads.num_kv_heads * dim;
  variable_list parts = split_columns(qkv_BTW, {heads.num_heads * dim, kv_width, kv_width});
  for (at::Tensor& part : parts) part = part.view({part.size(0), part.size(1), -1, dim});
  const auto [q, k] = rotate_qk(parts[0], parts[1], cos_TD, sin_TD);
  return {q, k, parts[2]};
}

at::ScalarType rotary_table_type(const at::Tensor& x) {
  const bool is_wide =
      has_kernel(operators().rotate_qk, x) || at::autocast::is_autocast_enabled(x.device().type());
  return is_wide ? at::kFloat : x.scalar_type();
}

}  // namespace s2s
