#include "s2s/nn/losses.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "nn/kernels/affine.h"
#include "nn/losses_split.h"
#include "s2s/error.h"

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor chunk_log_probs(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           int64_t num_groups) {
  const at::Tensor logits = affine(x, weight, bias);
  return at::log_softmax(logits.to(at::kFloat).view({x.size(0), num_groups, -1}), -1);
}

struct Gradients {
  at::Tensor x, weight, bias;
};

class LinearCrossEntropy : public torch::autograd::Function<LinearCrossEntropy> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& maybe_bias, const at::Tensor& labels,
                            const std::optional<at::Tensor>& maybe_weights) {
    const at::Tensor bias = maybe_bias.value_or(at::Tensor());
    const at::Tensor row_weights = maybe_weights.value_or(at::Tensor());
    Gradients grads{at::empty_like(x), at::zeros_like(weight),
                    bias.defined() ? at::zeros_like(bias) : at::Tensor()};
    at::Tensor loss = at::zeros({}, x.options().dtype(at::kFloat));
    const int64_t step = rows_per_chunk(weight.size(0));
    for (int64_t begin = 0; begin < x.size(0); begin += step) {
      const int64_t rows = std::min(step, x.size(0) - begin);
      const at::Tensor weights =
          row_weights.defined() ? row_weights.narrow(0, begin, rows) : at::Tensor();
      loss += run_chunk(x.narrow(0, begin, rows), weight, bias, labels.narrow(0, begin, rows),
                        weights, begin, grads);
    }
    context->save_for_backward({grads.x, grads.weight, grads.bias});
    return loss;
  }

  static variable_list backward(AutogradContext* context, const variable_list& outputs) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& scale = outputs[0];
    return {scaled_in_place(saved[0], scale),
            scaled_in_place(saved[1], scale),
            scaled_in_place(saved[2], scale),
            {},
            {}};
  }

 private:
  /// The chunk's loss; adds its share to `grads`.
  static at::Tensor run_chunk(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                              const at::Tensor& labels, const at::Tensor& row_weights,
                              int64_t begin, Gradients& grads) {
    at::Tensor log_probs = chunk_log_probs(x, weight, bias, labels.size(1));
    const at::Tensor index = labels.unsqueeze(-1);
    at::Tensor losses = -log_probs.gather(-1, index).squeeze(-1);
    at::Tensor grad = log_probs.exp_();
    grad.scatter_add_(-1, index, at::full_like(index, -1, grad.options()));
    if (row_weights.defined()) {
      losses = losses * row_weights;
      grad.mul_(row_weights.unsqueeze(-1));
    }
    grad = grad.view({x.size(0), -1});
    if (grads.bias.defined()) grads.bias += grad.sum(0).to(grads.bias.scalar_type());
    const auto type = product_type(weight);
    const at::Tensor grad_typed = grad.to(type);
    grads.x.narrow(0, begin, x.size(0)).copy_(at::mm(grad_typed, weight.to(type)));
    if (type == weight.scalar_type()) {
      grads.weight.addmm_(grad_typed.t(), x.to(type));
    } else {
      grads.weight += at::mm(grad_typed.t(), x.to(type));
    }
    return losses.sum();
  }
};

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& x_NH, const HeadWeight& head,
                                const at::Tensor& labels_NK, const at::Tensor& row_weights_NK) {
  S2S_ASSERT(x_NH.dim() == 2 && labels_NK.dim() == 2, "rows come flattened");
  S2S_ASSERT(head.weight.size(0) % labels_NK.size(1) == 0, "every group has the same vocabulary");
  if (head.split != nullptr) {
    return split::linear_cross_entropy(x_NH, head, labels_NK, row_weights_NK);
  }
  const auto optional = [](const at::Tensor& tensor) {
    return tensor.defined() ? std::optional(tensor) : std::nullopt;  // apply takes no undefined one
  };
  return LinearCrossEntropy::apply(x_NH, head.weight, optional(head.bias), labels_NK,
                                   optional(row_weights_NK));
}

CrossEntropyRows linear_cross_entropy_rows(const at::Tensor& x_NH, const HeadWeight& head,
                                           const at::Tensor& labels_NK) {
  if (head.split != nullptr) return split::linear_cross_entropy_rows(x_NH, head, labels_NK);
  const at::NoGradGuard no_grad;
  CrossEntropyRows rows{at::empty(labels_NK.sizes(), x_NH.options().dtype(at::kFloat)),
                        at::empty_like(labels_NK)};
  const int64_t step = rows_per_chunk(head.weight.size(0));
  for (int64_t begin = 0; begin < x_NH.size(0); begin += step) {
    const int64_t count = std::min(step, x_NH.size(0) - begin);
    const at::Tensor log_probs =
        chunk_log_probs(x_NH.narrow(0, begin, count), head.weight, head.bias, labels_NK.size(1));
    const at::Tensor index = labels_NK.narrow(0, begin, count).unsqueeze(-1);
    rows.loss_NK.narrow(0, begin, count).copy_(-log_probs.gather(-1, index).squeeze(-1));
    rows.predicted_NK.narrow(0, begin, count).copy_(log_probs.argmax(-1));
  }
  return rows;
}

at::Tensor head_logits(const at::Tensor& x, const HeadWeight& head, int64_t num_groups) {
  if (head.split != nullptr) return split::head_logits(x, head, num_groups);
  return affine(x, head.weight, head.bias);
}

}  // namespace s2s
