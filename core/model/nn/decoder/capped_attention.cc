#include "nn/decoder/capped_attention.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Cap {
  double scale, soft_cap;
};

/// tanh(q k' scale / soft_cap), float32 or wider.
at::Tensor tanh_scores(const at::Tensor& q, const at::Tensor& k, const Cap& cap) {
  const at::Tensor products = at::matmul(q, k.transpose(2, 3));
  const at::Tensor wide =
      products.scalar_type() == at::kDouble ? products : products.to(at::kFloat);
  return (wide * (cap.scale / cap.soft_cap)).tanh();
}

at::Tensor probabilities(const at::Tensor& tanh_of_scores, const at::Tensor& visible,
                         const Cap& cap) {
  at::Tensor scores = tanh_of_scores * cap.soft_cap;
  if (visible.defined()) scores = scores.masked_fill(visible.logical_not(), -INFINITY);
  return at::softmax(scores, -1);
}

at::Tensor attend_plain(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const at::Tensor& visible, const Cap& cap, double dropout = 0) {
  at::Tensor weights = probabilities(tanh_scores(q, k, cap), visible, cap);
  if (dropout > 0) weights = at::dropout(weights, dropout, /*train=*/true);
  return at::matmul(weights.to(v.scalar_type()), v);
}

/// The gradients of q, k and v of `attend_plain`.
variable_list gradients(const at::Tensor& dy, const at::Tensor& q, const at::Tensor& k,
                        const at::Tensor& v, const at::Tensor& visible, const Cap& cap) {
  const at::Tensor tanh_of_scores = tanh_scores(q, k, cap);
  const at::Tensor weights = probabilities(tanh_of_scores, visible, cap);
  const at::Tensor dv = at::matmul(weights.to(v.scalar_type()).transpose(2, 3), dy);
  const at::Tensor d_weights = at::matmul(dy, v.transpose(2, 3)).to(weights.scalar_type());
  const at::Tensor d_scores =
      at::_softmax_backward_data(d_weights, weights, -1, weights.scalar_type());
  const at::Tensor d_products =
      (d_scores * (1 - tanh_of_scores.square()) * cap.scale).to(q.scalar_type());
  return {at::matmul(d_products, k), at::matmul(d_products.transpose(2, 3), q), dv};
}

/// Keeps q, k and v only, and computes the scores of a few heads at a time.
class CappedAttention : public torch::autograd::Function<CappedAttention> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, const std::optional<at::Tensor>& mask,
                            double scale, double soft_cap, int64_t most_bytes) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::Tensor visible = mask.value_or(at::Tensor());
    const int64_t step = heads_at_a_time(q, k, most_bytes);
    context->save_for_backward({q, k, v, visible});
    context->saved_data["scale"] = scale;
    context->saved_data["soft_cap"] = soft_cap;
    context->saved_data["step"] = step;
    std::vector<at::Tensor> parts;
    for (int64_t head = 0; head < q.size(1); head += step) {
      parts.push_back(attend_plain(heads(q, head, step), heads(k, head, step), heads(v, head, step),
                                   visible, {scale, soft_cap}));
    }
    return at::cat(parts, 1);
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const variable_list saved = context->get_saved_variables();
    const Cap cap = {context->saved_data["scale"].toDouble(),
                     context->saved_data["soft_cap"].toDouble()};
    const int64_t step = context->saved_data["step"].toInt();
    std::vector<at::Tensor> parts[3];
    for (int64_t head = 0; head < saved[0].size(1); head += step) {
      const variable_list some =
          gradients(heads(outputs[0], head, step), heads(saved[0], head, step),
                    heads(saved[1], head, step), heads(saved[2], head, step), saved[3], cap);
      for (size_t i = 0; i < some.size(); ++i) parts[i].push_back(some[i]);
    }
    return {at::cat(parts[0], 1), at::cat(parts[1], 1), at::cat(parts[2], 1), {}, {}, {}, {}};
  }

 private:
  static int64_t heads_at_a_time(const at::Tensor& q, const at::Tensor& k, int64_t most_bytes) {
    const int64_t bytes = q.size(0) * q.size(2) * k.size(2) * static_cast<int64_t>(sizeof(float));
    return std::clamp<int64_t>(most_bytes / std::max<int64_t>(bytes, 1), 1, q.size(1));
  }
  static at::Tensor heads(const at::Tensor& x, int64_t begin, int64_t step) {
    return x.narrow(1, begin, std::min(step, x.size(1) - begin));
  }
};

}  // namespace

double scale_of(const at::Tensor& q, const AttentionSpec& spec) {
  return spec.scale != 0 ? spec.scale : 1 / std::sqrt(static_cast<double>(q.size(-1)));
}

at::Tensor attend_capped(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                         const at::Tensor& visible, const AttentionSpec& spec, int64_t most_bytes) {
  const Cap cap = {scale_of(q, spec), spec.soft_cap};
  if (q.is_cpu() || spec.dropout > 0) return attend_plain(q, k, v, visible, cap, spec.dropout);
  // The products of the backward pass are to have autocast's dtype, too.
  const at::DeviceType device = q.device().type();
  const bool casts = at::autocast::is_autocast_enabled(device);
  const auto type = casts ? at::autocast::get_autocast_dtype(device) : q.scalar_type();
  const auto mask = visible.defined() ? std::optional(visible) : std::nullopt;
  return CappedAttention::apply(q.to(type), k.to(type), v.to(type), mask, cap.scale, cap.soft_cap,
                                most_bytes);
}

}  // namespace s2s
