#include "s2s/nn/losses.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "nn/kernels/affine.h"
#include "s2s/error.h"
#include "s2s/kinds/communicator.h"

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Returns the rows per chunk. The logits of a chunk have about four million elements.
int64_t rows_per_chunk(int64_t num_logits) {
  return std::max<int64_t>(16, (int64_t{1} << 22) / std::max<int64_t>(1, num_logits));
}

/// Returns the dtype of matrix products with `weight`: autocast's dtype if autocast is on.
at::ScalarType product_type(const at::Tensor& weight) {
  const auto device = weight.device().type();
  return at::autocast::is_autocast_enabled(device) ? at::autocast::get_autocast_dtype(device)
                                                   : weight.scalar_type();
}

/// Multiplies a gradient from the forward pass by the gradient of the loss. This is done in place:
/// no other code uses the tensor, and autograd rejects a second backward pass.
at::Tensor scaled_in_place(at::Tensor gradient, const at::Tensor& scale) {
  return gradient.defined() ? gradient.mul_(scale.to(gradient.scalar_type())) : gradient;
}

/// Function::apply does not accept undefined tensors.
std::optional<at::Tensor> defined_or_none(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

struct Gradients {
  at::Tensor x, weight, bias;
};

/// Adds the contribution of one chunk. Undefined gradients are skipped.
/// d_nKV: gradient of the chunk's logits. chunk.x: the chunk's rows only.
void add_gradients(const at::Tensor& d_nKV, const at::Tensor& x_nH, const HeadWeight& head,
                   const Gradients& chunk) {
  const at::Tensor d_nV = d_nKV.flatten(1, 2);
  if (chunk.bias.defined()) chunk.bias.add_(d_nV.sum(0).to(chunk.bias.scalar_type()));
  const auto type = product_type(head.weight);
  const at::Tensor typed = d_nV.to(type);
  if (chunk.x.defined()) chunk.x.copy_(at::mm(typed, head.weight.to(type)));
  if (!chunk.weight.defined()) return;
  if (type == head.weight.scalar_type()) {
    chunk.weight.addmm_(typed.t(), x_nH.to(type));
  } else {
    chunk.weight.add_(at::mm(typed.t(), x_nH.to(type)));
  }
}

at::Tensor chunk_log_probs(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           int64_t num_groups) {
  const at::Tensor logits = affine(x, weight, bias);
  return at::log_softmax(logits.to(at::kFloat).view({x.size(0), num_groups, -1}), -1);
}

class LinearCrossEntropy : public torch::autograd::Function<LinearCrossEntropy> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& maybe_bias, const at::Tensor& labels,
                            const std::optional<at::Tensor>& maybe_weights) {
    const HeadWeight head{weight, maybe_bias.value_or(at::Tensor()), nullptr};
    const at::Tensor row_weights = maybe_weights.value_or(at::Tensor());
    const Gradients grads{at::empty_like(x), at::zeros_like(weight),
                          head.bias.defined() ? at::zeros_like(head.bias) : at::Tensor()};
    at::Tensor loss = at::zeros({}, x.options().dtype(at::kFloat));
    const int64_t step = rows_per_chunk(weight.size(0));
    for (int64_t begin = 0; begin < x.size(0); begin += step) {
      const int64_t rows = std::min(step, x.size(0) - begin);
      const at::Tensor weights =
          row_weights.defined() ? row_weights.narrow(0, begin, rows) : at::Tensor();
      loss += run_chunk(x.narrow(0, begin, rows), head, labels.narrow(0, begin, rows), weights,
                        {grads.x.narrow(0, begin, rows), grads.weight, grads.bias});
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
  /// Returns the chunk's loss and adds to the gradients.
  static at::Tensor run_chunk(const at::Tensor& x, const HeadWeight& head, const at::Tensor& labels,
                              const at::Tensor& row_weights, const Gradients& chunk) {
    at::Tensor log_probs = chunk_log_probs(x, head.weight, head.bias, labels.size(1));
    const at::Tensor index = labels.unsqueeze(-1);
    at::Tensor losses = -log_probs.gather(-1, index).squeeze(-1);
    const at::Tensor grad = log_probs.exp_();
    grad.scatter_add_(-1, index, at::full_like(index, -1, grad.options()));
    if (row_weights.defined()) {
      losses = losses * row_weights;
      grad.mul_(row_weights.unsqueeze(-1));
    }
    add_gradients(grad, x, head, chunk);
    return losses.sum();
  }
};

// Heads whose vocabularies are split over ranks.
namespace split {

/// The largest number of ids of a vocabulary on any rank. It sets the chunk length of all ranks.
int64_t largest_count(const VocabularySplit& split) {
  return (split.size + split.ranks->size() - 1) / split.ranks->size();
}

/// Returns this rank's logits [n, K, count]. A rank may have none.
at::Tensor own_logits(const at::Tensor& x_nH, const HeadWeight& head, int64_t num_groups) {
  const int64_t count = head.split->count;
  S2S_ASSERT(head.weight.size(0) == num_groups * count, "as many rows as the split says");
  if (count == 0) {
    return at::empty({x_nH.size(0), num_groups, 0},
                     x_nH.options().dtype(product_type(head.weight)));
  }
  return affine(x_nH, head.weight, head.bias).view({x_nH.size(0), num_groups, count});
}

/// Returns the largest logit of each vocabulary over all ranks.
at::Tensor largest(const at::Tensor& logits_nKV, const VocabularySplit& split) {
  const at::Tensor largest_nK =
      logits_nKV.size(-1) > 0
          ? logits_nKV.amax(-1)
          : at::full(logits_nKV.sizes().slice(0, 2), -std::numeric_limits<float>::infinity(),
                     logits_nKV.options());
  split.ranks->all_reduce(largest_nK, Reduction::kMax, "head largest").wait();
  return largest_nK;
}

/// This rank's part of the softmax of a chunk.
struct Softmax {
  at::Tensor loss_nK;   // float32, complete
  at::Tensor exp_nKV;   // exp(logit - largest) for this rank's logits
  at::Tensor sum_nK;    // sum of the exponentials of all ranks
  at::Tensor index_nK;  // index of the label among this rank's ids, where here_nK is true
  at::Tensor here_nK;   // true where the label is one of this rank's ids
};

/// Overwrites the logits.
Softmax softmax(const at::Tensor& logits_nKV, const at::Tensor& largest_nK,
                const at::Tensor& labels_nK, const VocabularySplit& split) {
  Softmax out;
  const at::Tensor shifted_nKV = logits_nKV.sub_(largest_nK.unsqueeze(-1));
  out.index_nK = labels_nK - split.begin;
  out.here_nK = out.index_nK.ge(0).logical_and_(out.index_nK.lt(split.count));
  out.index_nK.clamp_(0, std::max<int64_t>(0, split.count - 1));
  const at::Tensor sums_2nK =
      at::zeros({2, labels_nK.size(0), labels_nK.size(1)}, largest_nK.options());
  if (split.count > 0) {
    const at::Tensor label_nK = shifted_nKV.gather(-1, out.index_nK.unsqueeze(-1)).squeeze(-1);
    sums_2nK[1].copy_(label_nK.masked_fill_(out.here_nK.logical_not(), 0));
  }
  out.exp_nKV = shifted_nKV.exp_();
  sums_2nK[0].copy_(out.exp_nKV.sum(-1));
  split.ranks->all_reduce(sums_2nK, Reduction::kSum, "head sums").wait();
  out.sum_nK = sums_2nK[0];
  out.loss_nK = out.sum_nK.log() - sums_2nK[1];
  return out;
}

/// Without this check, a label that no rank has would count as an unlikely one. On a GPU the
/// assertion fails asynchronously.
void check_labels(const at::Tensor& labels_NK, const VocabularySplit& split) {
  if (labels_NK.numel() == 0) return;
  at::_assert_async(labels_NK.ge(0).logical_and_(labels_NK.lt(split.size)).all(),
                    "a label is not an id of its vocabulary");
}

/// The gradients that autograd needs.
struct Wanted {
  bool x = false, weight = false, bias = false;
};

Wanted wanted(const at::Tensor& x, const HeadWeight& head) {
  if (!at::GradMode::is_enabled()) return {};
  return {x.requires_grad(), head.weight.requires_grad(),
          head.bias.defined() && head.bias.requires_grad()};
}

class SplitCrossEntropy : public torch::autograd::Function<SplitCrossEntropy> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, const at::Tensor& labels,
                            const std::optional<at::Tensor>& row_weights,
                            const VocabularySplit* split, Wanted want) {
    const HeadWeight head{weight, bias.value_or(at::Tensor()), split};
    const Gradients grads{want.x ? at::empty_like(x, at::MemoryFormat::Contiguous) : at::Tensor(),
                          want.weight ? at::zeros_like(weight) : at::Tensor(),
                          want.bias ? at::zeros_like(head.bias) : at::Tensor()};
    at::Tensor loss = at::zeros({}, x.options().dtype(at::kFloat));
    const int64_t step = rows_per_chunk(labels.size(1) * largest_count(*split));
    for (int64_t begin = 0; begin < x.size(0); begin += step) {
      const int64_t rows = std::min(step, x.size(0) - begin);
      const auto part = [&](const at::Tensor& t) {
        return t.defined() ? t.narrow(0, begin, rows) : t;
      };
      loss += run_chunk(part(x), head, part(labels), part(row_weights.value_or(at::Tensor())),
                        {part(grads.x), grads.weight, grads.bias});
    }
    if (want.x) split->ranks->all_reduce(grads.x, Reduction::kSum, "head input backward").wait();
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
            {},
            {},
            {}};
  }

 private:
  static at::Tensor run_chunk(const at::Tensor& x, const HeadWeight& head, const at::Tensor& labels,
                              const at::Tensor& row_weights, const Gradients& chunk) {
    const at::Tensor logits = own_logits(x, head, labels.size(1)).to(at::kFloat);
    const Softmax soft = softmax(logits, largest(logits, *head.split), labels, *head.split);
    const bool wants_any = chunk.x.defined() || chunk.weight.defined() || chunk.bias.defined();
    if (wants_any) {
      const at::Tensor d_nKV = soft.exp_nKV.div_(soft.sum_nK.unsqueeze(-1));
      if (head.split->count > 0) {
        const at::Tensor minus_nK = soft.here_nK.to(d_nKV.scalar_type()).neg_();
        d_nKV.scatter_add_(-1, soft.index_nK.unsqueeze(-1), minus_nK.unsqueeze(-1));
      }
      if (row_weights.defined()) d_nKV.mul_(row_weights.unsqueeze(-1));
      add_gradients(d_nKV, x, head, chunk);
    }
    return (row_weights.defined() ? soft.loss_nK * row_weights : soft.loss_nK).sum();
  }
};

/// Returns the smallest id with the largest logit over all ranks.
at::Tensor predicted(const at::Tensor& logits_nKV, const at::Tensor& largest_nK,
                     const VocabularySplit& split) {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  at::Tensor id_nK = at::full(largest_nK.sizes(), kNone, largest_nK.options().dtype(at::kLong));
  if (split.count > 0) {
    const at::Tensor own_nK = logits_nKV.argmax(-1);
    const at::Tensor logit_nK = logits_nKV.gather(-1, own_nK.unsqueeze(-1)).squeeze(-1);
    const at::Tensor is_largest_nK = logit_nK.eq(largest_nK).logical_or_(logit_nK.isnan());
    id_nK = at::where(is_largest_nK, own_nK + split.begin, id_nK);
  }
  split.ranks->all_reduce(id_nK, Reduction::kMin, "head predicted").wait();
  return id_nK;
}

at::Tensor linear_cross_entropy(const at::Tensor& x_NH, const HeadWeight& head,
                                const at::Tensor& labels_NK, const at::Tensor& row_weights_NK) {
  check_labels(labels_NK, *head.split);
  return SplitCrossEntropy::apply(x_NH, head.weight, defined_or_none(head.bias), labels_NK,
                                  defined_or_none(row_weights_NK), head.split, wanted(x_NH, head));
}

CrossEntropyRows linear_cross_entropy_rows(const at::Tensor& x_NH, const HeadWeight& head,
                                           const at::Tensor& labels_NK) {
  const at::NoGradGuard no_grad;
  check_labels(labels_NK, *head.split);
  CrossEntropyRows rows{at::empty(labels_NK.sizes(), x_NH.options().dtype(at::kFloat)),
                        at::empty_like(labels_NK)};
  const int64_t step = rows_per_chunk(labels_NK.size(1) * largest_count(*head.split));
  for (int64_t begin = 0; begin < x_NH.size(0); begin += step) {
    const int64_t count = std::min(step, x_NH.size(0) - begin);
    const at::Tensor logits =
        own_logits(x_NH.narrow(0, begin, count), head, labels_NK.size(1)).to(at::kFloat);
    const at::Tensor largest_nK = largest(logits, *head.split);
    rows.predicted_NK.narrow(0, begin, count).copy_(predicted(logits, largest_nK, *head.split));
    const Softmax soft =
        softmax(logits, largest_nK, labels_NK.narrow(0, begin, count), *head.split);
    rows.loss_NK.narrow(0, begin, count).copy_(soft.loss_nK);
  }
  return rows;
}

at::Tensor head_logits(const at::Tensor& x, const HeadWeight& head, int64_t num_groups) {
  const at::NoGradGuard no_grad;
  const VocabularySplit& split = *head.split;
  const at::Tensor own = own_logits(x.reshape({-1, x.size(-1)}), head, num_groups);
  const int64_t missing = largest_count(split) - split.count;
  const at::Tensor padded =
      (missing > 0 ? at::constant_pad_nd(own, {0, missing}) : own).contiguous();
  std::vector<int64_t> sizes = padded.sizes().vec();
  sizes.insert(sizes.begin(), split.ranks->size());
  const at::Tensor parts = at::empty(sizes, padded.options());
  split.ranks->all_gather(parts, padded, "head logits").wait();
  const at::Tensor whole = parts.permute({1, 2, 0, 3}).flatten(2).narrow(2, 0, split.size);
  std::vector<int64_t> out = x.sizes().vec();
  out.back() = num_groups * split.size;
  return whole.reshape(out);
}

}  // namespace split
}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& x_NH, const HeadWeight& head,
                                const at::Tensor& labels_NK, const at::Tensor& row_weights_NK) {
  S2S_ASSERT(x_NH.dim() == 2 && labels_NK.dim() == 2, "rows come flattened");
  S2S_ASSERT(head.weight.size(0) % labels_NK.size(1) == 0, "every group has the same vocabulary");
  if (head.split != nullptr) {
    return split::linear_cross_entropy(x_NH, head, labels_NK, row_weights_NK);
  }
  return LinearCrossEntropy::apply(x_NH, head.weight, defined_or_none(head.bias), labels_NK,
                                   defined_or_none(row_weights_NK));
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
