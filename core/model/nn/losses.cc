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

/// Rows of one chunk. On a CPU, the logits of a chunk have about four million elements, which suits
/// its caches. Elsewhere they have 268 million (1 GiB in float32): each chunk reads the weight and
/// its gradient once, so that small chunks cost more than their products.
int64_t rows_per_chunk(int64_t num_logits, const at::Device& device) {
  const auto [elements, least] =
      device.is_cpu() ? std::pair(int64_t{1} << 22, 16) : std::pair(int64_t{1} << 28, 2048);
  return std::max<int64_t>(least, elements / std::max<int64_t>(1, num_logits));
}

/// Calls run(first row, number of rows) for each chunk of the rows of x, with so many logits each.
template <class Run>
void for_each_chunk(const at::Tensor& x, int64_t num_logits, const Run& run) {
  const int64_t step = rows_per_chunk(num_logits, x.device());
  for (int64_t begin = 0; begin < x.size(0); begin += step) {
    run(begin, std::min(step, x.size(0) - begin));
  }
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

/// The gradients that autograd will request, computed together with the loss.
struct Wanted {
  bool x = false, weight = false, bias = false;
};

Wanted wanted(const at::Tensor& x, const HeadWeight& head) {
  if (!at::GradMode::is_enabled()) return {};
  return {x.requires_grad(), head.weight.requires_grad(),
          head.bias.defined() && head.bias.requires_grad()};
}

/// The gradients of a head and its input, chunk by chunk. Those that are not wanted are undefined.
class Gradients {
 public:
  Gradients(const at::Tensor& x, const HeadWeight& head, bool is_one_chunk, Wanted want)
      : type_(product_type(head.weight)) {
    // A sum over chunks in bfloat16 would be rounded after each of them.
    const auto zeros = [&](const at::Tensor& like) {
      const auto type = like.scalar_type();
      return at::zeros_like(like, is_one_chunk ? type : at::promote_types(type, at::kFloat));
    };
    if (want.x) x_ = at::empty_like(x, at::MemoryFormat::Contiguous);
    if (want.x) weight_ = head.weight.to(type_);
    if (want.weight) weight_sum_ = zeros(head.weight);
    if (want.bias) bias_sum_ = zeros(head.bias);
  }

  bool any() const { return x_.defined() || weight_sum_.defined() || bias_sum_.defined(); }
  const at::Tensor& x() const { return x_; }

  /// Adds a chunk's part. d_nKV: gradient of the chunk's logits; x_nH: its rows, from `begin` on.
  void add(const at::Tensor& d_nKV, const at::Tensor& x_nH, int64_t begin) const {
    const at::Tensor d_nV = d_nKV.flatten(1, 2);
    if (bias_sum_.defined()) bias_sum_.add_(d_nV.sum(0).to(bias_sum_.scalar_type()));
    const at::Tensor typed = d_nV.to(type_);
    if (x_.defined()) x_.narrow(0, begin, x_nH.size(0)).copy_(at::mm(typed, weight_));
    if (!weight_sum_.defined()) return;
    if (type_ == weight_sum_.scalar_type()) {
      weight_sum_.addmm_(typed.t(), x_nH.to(type_));
    } else {
      weight_sum_.add_(at::mm(typed.t(), x_nH.to(type_)));
    }
  }

  /// Of x, weight and bias, in the parameters' types.
  variable_list all(const HeadWeight& head) const {
    const auto typed = [](const at::Tensor& sum, const at::Tensor& parameter) {
      return sum.defined() ? sum.to(parameter.scalar_type()) : sum;
    };
    return {x_, typed(weight_sum_, head.weight), typed(bias_sum_, head.bias)};
  }

 private:
  at::ScalarType type_;
  at::Tensor x_, weight_, weight_sum_, bias_sum_;
};

struct Chunk {
  int64_t begin;  // its first row
  at::Tensor x_nH, labels_nK, row_weights_nK;
};

/// Logits under the head's soft cap, float32. `squashed` receives tanh(logit / cap), if there is
/// one.
at::Tensor capped(const at::Tensor& logits, const HeadWeight& head, at::Tensor* squashed) {
  const at::Tensor wide = logits.to(at::kFloat);
  if (head.soft_cap == 0) return wide;
  const at::Tensor tanh = (wide / head.soft_cap).tanh_();
  if (squashed != nullptr) *squashed = tanh;
  return tanh * head.soft_cap;
}

/// Turns the gradient of capped logits into that of the logits, in place.
void through_cap(const at::Tensor& d_nKV, const at::Tensor& squashed) {
  if (squashed.defined()) d_nKV.mul_(1 - squashed.square());
}

at::Tensor chunk_log_probs(const at::Tensor& x, const HeadWeight& head, int64_t num_groups,
                           at::Tensor* squashed = nullptr) {
  const at::Tensor logits = affine(x, head.weight, head.bias).view({x.size(0), num_groups, -1});
  return at::log_softmax(capped(logits, head, squashed), -1);
}

// Heads that have their whole vocabularies here.
namespace whole {

/// Returns the chunk's loss and adds to the gradients.
at::Tensor run_chunk(const Chunk& chunk, const HeadWeight& head, const Gradients& gradients) {
  const at::Tensor& labels = chunk.labels_nK;
  at::Tensor squashed;
  at::Tensor log_probs = chunk_log_probs(chunk.x_nH, head, labels.size(1), &squashed);
  const at::Tensor index = labels.unsqueeze(-1);
  at::Tensor losses = -log_probs.gather(-1, index).squeeze(-1);
  if (chunk.row_weights_nK.defined()) losses = losses * chunk.row_weights_nK;
  if (gradients.any()) {
    const at::Tensor d_nKV = log_probs.exp_();
    d_nKV.scatter_add_(-1, index, at::full_like(index, -1, d_nKV.options()));
    if (chunk.row_weights_nK.defined()) d_nKV.mul_(chunk.row_weights_nK.unsqueeze(-1));
    through_cap(d_nKV, squashed);
    gradients.add(d_nKV, chunk.x_nH, chunk.begin);
  }
  return losses.sum();
}

CrossEntropyRows rows_of_chunk(const at::Tensor& x, const HeadWeight& head,
                               const at::Tensor& labels) {
  const at::Tensor log_probs = chunk_log_probs(x, head, labels.size(1));
  return {-log_probs.gather(-1, labels.unsqueeze(-1)).squeeze(-1), log_probs.argmax(-1)};
}

}  // namespace whole

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

/// Returns the chunk's loss and adds to the gradients.
at::Tensor run_chunk(const Chunk& chunk, const HeadWeight& head, const Gradients& gradients) {
  const at::Tensor& labels = chunk.labels_nK;
  at::Tensor squashed;
  const at::Tensor logits = capped(own_logits(chunk.x_nH, head, labels.size(1)), head, &squashed);
  const Softmax soft = softmax(logits, largest(logits, *head.split), labels, *head.split);
  const at::Tensor& weights = chunk.row_weights_nK;
  if (gradients.any()) {
    const at::Tensor d_nKV = soft.exp_nKV.div_(soft.sum_nK.unsqueeze(-1));
    if (head.split->count > 0) {
      const at::Tensor minus_nK = soft.here_nK.to(d_nKV.scalar_type()).neg_();
      d_nKV.scatter_add_(-1, soft.index_nK.unsqueeze(-1), minus_nK.unsqueeze(-1));
    }
    if (weights.defined()) d_nKV.mul_(weights.unsqueeze(-1));
    through_cap(d_nKV, squashed);
    gradients.add(d_nKV, chunk.x_nH, chunk.begin);
  }
  return (weights.defined() ? soft.loss_nK * weights : soft.loss_nK).sum();
}

/// The smallest id with the largest logit, over all ranks.
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

CrossEntropyRows rows_of_chunk(const at::Tensor& x, const HeadWeight& head,
                               const at::Tensor& labels) {
  const at::Tensor logits = capped(own_logits(x, head, labels.size(1)), head, nullptr);
  const at::Tensor largest_nK = largest(logits, *head.split);
  const at::Tensor predicted_nK = predicted(logits, largest_nK, *head.split);
  return {softmax(logits, largest_nK, labels, *head.split).loss_nK, predicted_nK};
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

/// Logits of a row on the rank that holds the most: all ranks take chunks of one length.
int64_t most_logits(const HeadWeight& head, int64_t num_groups) {
  return head.split == nullptr ? head.weight.size(0)
                               : num_groups * split::largest_count(*head.split);
}

class CrossEntropy : public torch::autograd::Function<CrossEntropy> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, const at::Tensor& labels,
                            const std::optional<at::Tensor>& row_weights,
                            const VocabularySplit* split, double soft_cap, Wanted want) {
    const HeadWeight head{weight, bias.value_or(at::Tensor()), split, soft_cap};
    const int64_t num_logits = most_logits(head, labels.size(1));
    const bool is_one_chunk = x.size(0) <= rows_per_chunk(num_logits, x.device());
    const Gradients gradients(x, head, is_one_chunk, want);
    at::Tensor loss = at::zeros({}, x.options().dtype(at::kFloat));
    const auto run_chunk = split ? split::run_chunk : whole::run_chunk;
    for_each_chunk(x, num_logits, [&](int64_t begin, int64_t rows) {
      const auto part = [&](const at::Tensor& t) {
        return t.defined() ? t.narrow(0, begin, rows) : t;
      };
      const at::Tensor weights = part(row_weights.value_or(at::Tensor()));
      loss += run_chunk({begin, part(x), part(labels), weights}, head, gradients);
    });
    if (split && want.x) {
      split->ranks->all_reduce(gradients.x(), Reduction::kSum, "head input backward").wait();
    }
    context->save_for_backward(gradients.all(head));
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
            {},
            {}};
  }
};

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& x_NH, const HeadWeight& head,
                                const at::Tensor& labels_NK, const at::Tensor& row_weights_NK) {
  S2S_ASSERT(x_NH.dim() == 2 && labels_NK.dim() == 2, "rows come flattened");
  S2S_ASSERT(head.weight.size(0) % labels_NK.size(1) == 0, "every group has the same vocabulary");
  if (head.split != nullptr) split::check_labels(labels_NK, *head.split);
  return CrossEntropy::apply(x_NH, head.weight, defined_or_none(head.bias), labels_NK,
                             defined_or_none(row_weights_NK), head.split, head.soft_cap,
                             wanted(x_NH, head));
}

CrossEntropyRows linear_cross_entropy_rows(const at::Tensor& x_NH, const HeadWeight& head,
                                           const at::Tensor& labels_NK) {
  const at::NoGradGuard no_grad;
  if (head.split != nullptr) split::check_labels(labels_NK, *head.split);
  CrossEntropyRows rows{at::empty(labels_NK.sizes(), x_NH.options().dtype(at::kFloat)),
                        at::empty_like(labels_NK)};
  const auto rows_of_chunk = head.split ? split::rows_of_chunk : whole::rows_of_chunk;
  for_each_chunk(x_NH, most_logits(head, labels_NK.size(1)), [&](int64_t begin, int64_t count) {
    const CrossEntropyRows chunk =
        rows_of_chunk(x_NH.narrow(0, begin, count), head, labels_NK.narrow(0, begin, count));
    rows.loss_NK.narrow(0, begin, count).copy_(chunk.loss_NK);
    rows.predicted_NK.narrow(0, begin, count).copy_(chunk.predicted_NK);
  });
  return rows;
}

at::Tensor head_logits(const at::Tensor& x, const HeadWeight& head, int64_t num_groups) {
  if (head.split != nullptr) return split::head_logits(x, head, num_groups);
  return affine(x, head.weight, head.bias);
}

}  // namespace s2s
