#include "nn/kernels/rel_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "nn/kernels/affine.h"

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Sizes {
  int64_t batch, queries, keys, heads, dim;
  int64_t columns;  // positions, padded with zeros
  int64_t positions() const { return queries + keys - 1; }
};

constexpr int64_t kDeviceColumns = 8;

int64_t padded_columns(const RelAttentionInput& input) {
  int64_t multiple = input.column_multiple;
  if (multiple == 0) multiple = input.q_BTM.is_cpu() ? 1 : kDeviceColumns;
  return (input.p_PM.size(0) + multiple - 1) / multiple * multiple;
}

/// [B, T, M] -> [H, B, T, D], contiguous. Batch and frames are adjacent, so that products with the
/// positions treat them as one dim.
at::Tensor split_heads(const at::Tensor& x_BTM, const Sizes& s) {
  return x_BTM.view({s.batch, x_BTM.size(1), s.heads, s.dim}).permute({2, 0, 1, 3}).contiguous();
}

at::Tensor merge_heads(const at::Tensor& x_HBTD, const Sizes& s) {
  const at::Tensor x_BTHD = x_HBTD.view({s.heads, s.batch, -1, s.dim}).permute({1, 2, 0, 3});
  return x_BTHD.reshape({s.batch, -1, s.heads * s.dim});
}

/// (q + bias) * scale per head: [H, B, T, D].
at::Tensor biased_query(const at::Tensor& q_BTM, const at::Tensor& bias_HD, double scale,
                        const Sizes& s) {
  at::Tensor out = at::empty({s.heads, s.batch, s.queries, s.dim}, q_BTM.options());
  const at::Tensor q = q_BTM.view({s.batch, s.queries, s.heads, s.dim}).permute({2, 0, 1, 3});
  at::add_out(out, q, bias_HD.to(q.scalar_type()).view({s.heads, 1, 1, s.dim}));
  return out.mul_(scale);
}

/// Row i of the position scores starts T - 1 - i columns later. This is a view with one element
/// less per row; it ends before the columns that pad.  [H, B T, C] -> [H B, T, U].
at::Tensor shifted(const at::Tensor& by_position, const Sizes& s) {
  return by_position.as_strided({s.heads * s.batch, s.queries, s.keys},
                                {s.queries * s.columns, s.columns - 1, 1}, s.queries - 1);
}

/// [P, M] -> [H, C, D], padded with zeros after the positions.
at::Tensor positions_per_head(const at::Tensor& p_PM, const Sizes& s) {
  const at::Tensor p_HPD = p_PM.view({s.positions(), s.heads, s.dim}).permute({1, 0, 2});
  if (s.columns == s.positions()) return p_HPD.contiguous();
  const at::Tensor padded = at::zeros({s.heads, s.columns, s.dim}, p_PM.options());
  padded.narrow(1, 0, s.positions()).copy_(p_HPD);
  return padded;
}

at::Tensor flat_batches(const at::Tensor& x_HBTD, const Sizes& s) {
  return x_HBTD.view({s.heads * s.batch, -1, s.dim});
}

at::Tensor flat_frames(const at::Tensor& x_HBTD, const Sizes& s) {
  return x_HBTD.view({s.heads, s.batch * s.queries, s.dim});
}

class RelAttention : public torch::autograd::Function<RelAttention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q_BTM,
                            const at::Tensor& k_BUM, const at::Tensor& v_BUM,
                            const at::Tensor& p_PM, const at::Tensor& bias_u,
                            const at::Tensor& bias_v, const std::optional<at::Tensor>& mask,
                            double dropout, int64_t columns) {
    const Sizes s{q_BTM.size(0),  q_BTM.size(1),  k_BUM.size(1),
                  bias_u.size(0), bias_u.size(1), columns};
    const double scale = 1.0 / std::sqrt(static_cast<double>(s.dim));
    const at::Tensor qu = biased_query(q_BTM, bias_u, scale, s);
    const at::Tensor qv = biased_query(q_BTM, bias_v, scale, s);
    const at::Tensor k = split_heads(k_BUM, s), v = split_heads(v_BUM, s);
    const at::Tensor p = positions_per_head(p_PM, s);
    at::Tensor scores;
    {
      const at::Tensor by_position = at::bmm(flat_frames(qv, s), p.transpose(1, 2));
      scores = shifted(by_position, s).contiguous();
      scores.baddbmm_(flat_batches(qu, s), flat_batches(k, s).transpose(1, 2));
    }
    if (mask) scores.view({s.heads, s.batch, s.queries, s.keys}).add_(*mask);
    const at::Tensor weights = at::_softmax(scores, -1, false);
    at::Tensor kept;
    if (dropout > 0) kept = at::empty_like(weights).bernoulli_(1 - dropout).div_(1 - dropout);
    const at::Tensor used = kept.defined() ? weights * kept : weights;
    context->save_for_backward({qu, qv, k, v, p, weights, kept});
    context->saved_data["bias_type"] = static_cast<int64_t>(bias_u.scalar_type());
    return merge_heads(at::bmm(used, flat_batches(v, s)), s);
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &qu = saved[0], &qv = saved[1], &k = saved[2], &v = saved[3], &p = saved[4],
                     &weights = saved[5], &kept = saved[6];
    const Sizes s{qu.size(1), qu.size(2), k.size(2), qu.size(0), qu.size(3), p.size(1)};
    const at::Tensor grad = flat_batches(split_heads(outputs[0].contiguous(), s), s);
    const at::Tensor used = kept.defined() ? weights * kept : weights;
    const at::Tensor grad_v = at::bmm(used.transpose(1, 2), grad);
    at::Tensor grad_weights = at::bmm(grad, flat_batches(v, s).transpose(1, 2));
    if (kept.defined()) grad_weights.mul_(kept);
    const at::Tensor grad_scores =
        at::_softmax_backward_data(grad_weights, weights, -1, weights.scalar_type());
    const at::Tensor grad_k = at::bmm(grad_scores.transpose(1, 2), flat_batches(qu, s));
    at::Tensor grad_qu = at::bmm(grad_scores, flat_batches(k, s));
    at::Tensor by_position =
        at::zeros({s.heads, s.batch * s.queries, s.columns}, grad_scores.options());
    shifted(by_position, s).copy_(grad_scores);
    const at::Tensor grad_p = at::bmm(by_position.transpose(1, 2), flat_frames(qv, s));
    at::Tensor grad_qv = at::bmm(by_position, p);
    return finish(grad_qu, grad_qv, grad_k, grad_v, grad_p, s,
                  static_cast<at::ScalarType>(context->saved_data["bias_type"].toInt()));
  }

 private:
  /// Returns the gradients of the arguments, given those of the scaled, biased, split tensors.
  static variable_list finish(at::Tensor& grad_qu, at::Tensor& grad_qv, const at::Tensor& grad_k,
                              const at::Tensor& grad_v, const at::Tensor& grad_p, const Sizes& s,
                              at::ScalarType bias_type) {
    const double scale = 1.0 / std::sqrt(static_cast<double>(s.dim));
    const auto bias_gradient = [&](const at::Tensor& grad) {
      return (grad.view({s.heads, s.batch * s.queries, s.dim}).sum(1) * scale).to(bias_type);
    };
    const at::Tensor grad_u = bias_gradient(grad_qu);
    const at::Tensor grad_b = bias_gradient(grad_qv);
    const at::Tensor grad_q = grad_qu.add_(grad_qv.view_as(grad_qu)).mul_(scale);
    const at::Tensor positions =
        grad_p.narrow(1, 0, s.positions()).permute({1, 0, 2}).reshape({s.positions(), -1});
    return {merge_heads(grad_q, s),
            merge_heads(grad_k, s),
            merge_heads(grad_v, s),
            positions,
            grad_u,
            grad_b,
            {},
            {},
            {}};
  }
};

}  // namespace

at::Tensor rel_attention(const RelAttentionInput& input) {
  return RelAttention::apply(input.q_BTM, input.k_BUM, input.v_BUM, input.p_PM, input.bias_u_HD,
                             input.bias_v_HD,
                             input.mask.defined() ? std::optional(input.mask) : std::nullopt,
                             input.dropout, padded_columns(input));
}

}  // namespace s2s
