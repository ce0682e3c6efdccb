// The lattice of a transducer. Its rows are frames: alpha is computed from the first frame on, beta
// from the last, each row from those before at once. Steps inside of a row (labels of duration 0)
// are a cumulative sum. In double, so that long texts lose nothing.

#include "s2s/nn/transducer_loss.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <limits>

#include "s2s/error.h"

namespace s2s {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Steps of one duration: the log of their probability at each (t, u).
struct Edges {
  int64_t duration = 0;
  at::Tensor log_TAU;
};

/// The steps of a batch. U: labels and one more.
struct Lattice {
  std::vector<Edges> blanks, labels;  // of blanks without duration 0
  at::Tensor frames_A1, is_end_AU;    // is_end: at the length of the text
  int64_t num_frames = 0;

  at::Tensor nothing_AU() const { return at::full_like(is_end_AU, kNever, at::kDouble); }
  /// Sum over the steps before u that stay at frame t, or undefined.
  at::Tensor stays_AU(int64_t t) const {
    for (const Edges& edges : labels) {
      if (edges.duration != 0) continue;
      const at::Tensor log_AU = edges.log_TAU[t];
      return log_AU.cumsum(1) - log_AU;
    }
    return {};
  }
};

/// x with its columns moved by one, to a higher u or to a lower one.
at::Tensor moved_up(const at::Tensor& x_AU) {
  return at::constant_pad_nd(x_AU.narrow(1, 0, x_AU.size(1) - 1), {1, 0}, kNever);
}
at::Tensor moved_down(const at::Tensor& x_AU) {
  return at::constant_pad_nd(x_AU.narrow(1, 1, x_AU.size(1) - 1), {0, 1}, kNever);
}

at::Tensor log_sum(const std::vector<at::Tensor>& parts) {
  return parts.size() == 1 ? parts[0] : at::logsumexp(at::stack(parts), 0);
}

/// log of the probability to get from (0, 0) to each (t, u): [T, A, U].
at::Tensor alphas(const Lattice& lattice) {
  std::vector<at::Tensor> alpha;
  for (int64_t t = 0; t < lattice.num_frames; ++t) {
    std::vector<at::Tensor> parts;
    const auto arrive = [&](const Edges& edges, bool is_label) {
      const int64_t from = t - edges.duration;
      if (edges.duration == 0 || from < 0) return;
      const at::Tensor step_AU = alpha[static_cast<size_t>(from)] + edges.log_TAU[from];
      parts.push_back(is_label ? moved_up(step_AU) : step_AU);
    };
    for (const Edges& edges : lattice.blanks) arrive(edges, false);
    for (const Edges& edges : lattice.labels) arrive(edges, true);
    if (parts.empty()) parts.push_back(lattice.nothing_AU());
    at::Tensor row_AU = log_sum(parts);
    if (t == 0) row_AU.select(1, 0).fill_(0);
    if (const at::Tensor stays_AU = lattice.stays_AU(t); stays_AU.defined()) {
      row_AU = stays_AU + at::logcumsumexp(row_AU - stays_AU, 1);
    }
    alpha.push_back(row_AU);
  }
  return at::stack(alpha);
}

/// log of the probability to get from each (t, u) to the end. `inside` [T, A, U]: where a label may
/// go; `all` [T + 1, A, U]: with the ends, to which blanks go.
struct Betas {
  at::Tensor inside_TAU, all_TAU;
};

Betas betas(const Lattice& lattice) {
  const int64_t num_frames = lattice.num_frames;
  std::vector<at::Tensor> inside(static_cast<size_t>(num_frames) + 1), all(inside.size());
  const at::Tensor nothing_AU = lattice.nothing_AU();
  const auto keep = [&](int64_t t, const at::Tensor& row_AU) {
    const auto at = static_cast<size_t>(t);
    inside[at] = at::where(lattice.frames_A1.gt(t), row_AU, kNever);
    all[at] = inside[at].masked_fill(lattice.frames_A1.eq(t).logical_and(lattice.is_end_AU), 0);
  };
  keep(num_frames, nothing_AU);
  for (int64_t t = num_frames - 1; t >= 0; --t) {
    std::vector<at::Tensor> parts;
    for (const Edges& edges : lattice.blanks) {
      const int64_t to = t + edges.duration;
      if (to <= num_frames) parts.push_back(all[static_cast<size_t>(to)] + edges.log_TAU[t]);
    }
    for (const Edges& edges : lattice.labels) {
      const int64_t to = t + edges.duration;
      if (edges.duration == 0 || to >= num_frames) continue;
      parts.push_back(moved_down(inside[static_cast<size_t>(to)]) + edges.log_TAU[t]);
    }
    if (parts.empty()) parts.push_back(nothing_AU);
    at::Tensor row_AU = log_sum(parts);
    if (const at::Tensor stays_AU = lattice.stays_AU(t); stays_AU.defined()) {
      row_AU = (row_AU + stays_AU).flip(1).logcumsumexp(1).flip(1) - stays_AU;
    }
    keep(t, row_AU);
  }
  const at::Tensor all_TAU = at::stack(all);
  inside.pop_back();
  return {at::stack(inside), all_TAU};
}

/// [A, T, U] -> [T, A, U] in double.
at::Tensor by_frame(const at::Tensor& x_ATU) {
  return x_ATU.transpose(0, 1).to(at::kDouble).contiguous();
}

/// What a loss reads of a batch, and what its gradient is made of.
struct LossInput {
  at::Tensor label_log_ATUV, duration_log_ATUD;  // normalized; of RNN-T: no durations
  at::Tensor index_ATU1;                         // the label that comes next
  Lattice lattice;
};

LossInput loss_input(const at::Tensor& scores_ATUV, const RecognitionTargets& targets,
                     const TransducerSteps& steps) {
  const auto num_durations = static_cast<int64_t>(steps.durations.size());
  const int64_t num_labels = scores_ATUV.size(3) - num_durations, width = scores_ATUV.size(2);
  LossInput input;
  Lattice& lattice = input.lattice;
  lattice.num_frames = scores_ATUV.size(1);
  input.label_log_ATUV = at::log_softmax(scores_ATUV.narrow(3, 0, num_labels), 3, at::kFloat);
  const at::Tensor next_AU =
      at::constant_pad_nd(targets.labels_AU, {0, width - targets.labels_AU.size(1)}, 0);
  input.index_ATU1 = next_AU.clamp(0, num_labels - 1)
                         .view({-1, 1, width, 1})
                         .expand({-1, lattice.num_frames, -1, 1});
  const at::Tensor label_TAU =
      by_frame(input.label_log_ATUV.gather(3, input.index_ATU1).squeeze(3)) - steps.sigma;
  const at::Tensor blank_TAU =
      by_frame(input.label_log_ATUV.select(3, targets.blank)) - steps.sigma;
  lattice.frames_A1 = targets.frames_A.unsqueeze(1);
  lattice.is_end_AU =
      at::arange(width, targets.lengths_A.options()).eq(targets.lengths_A.unsqueeze(1));
  if (num_durations == 0) {
    lattice.blanks = {{1, blank_TAU}};
    lattice.labels = {{0, label_TAU}};
    return input;
  }
  input.duration_log_ATUD =
      at::log_softmax(scores_ATUV.narrow(3, num_labels, num_durations), 3, at::kFloat);
  for (int64_t d = 0; d < num_durations; ++d) {
    const int64_t duration = steps.durations[static_cast<size_t>(d)];
    const at::Tensor log_TAU = by_frame(input.duration_log_ATUD.select(3, d));
    if (duration > 0) lattice.blanks.push_back({duration, blank_TAU + log_TAU});
    lattice.labels.push_back({duration, label_TAU + log_TAU});
  }
  return input;
}

/// The probability of each step to be part of the path: [A, T, U] float, of the batch's texts.
class Flows {
 public:
  Flows(const Lattice& lattice, const Betas& betas) : alpha_TAU_(alphas(lattice)) {
    // Without a path there is no flow.
    const at::Tensor total_A = betas.inside_TAU[0].select(1, 0);
    alpha_TAU_ = alpha_TAU_ - at::where(total_A.isinf(), 0.0, total_A).view({1, -1, 1});
  }
  at::Tensor of_blanks(const Edges& edges, const Betas& betas) const {
    return flow(edges, betas.all_TAU);
  }
  at::Tensor of_labels(const Edges& edges, const Betas& betas) const {
    const at::Tensor& inside_TAU = betas.inside_TAU;
    const int64_t width = inside_TAU.size(2);
    return flow(edges, at::constant_pad_nd(inside_TAU.narrow(2, 1, width - 1), {0, 1}, kNever));
  }

 private:
  at::Tensor flow(const Edges& edges, const at::Tensor& to_TAU) const {
    const int64_t num_frames = alpha_TAU_.size(0);
    const int64_t skipped = std::min(edges.duration, to_TAU.size(0));
    const at::Tensor rest_TAU = to_TAU.narrow(0, skipped, to_TAU.size(0) - skipped);
    const int64_t missing = std::max<int64_t>(0, num_frames - rest_TAU.size(0));
    const at::Tensor there_TAU =
        at::constant_pad_nd(rest_TAU, {0, 0, 0, 0, 0, missing}, kNever).narrow(0, 0, num_frames);
    return (alpha_TAU_ + edges.log_TAU + there_TAU).exp().to(at::kFloat).transpose(0, 1);
  }

  at::Tensor alpha_TAU_;
};

/// The flows that a gradient is made of: through blanks, labels, and each duration.
variable_list saved_flows(const LossInput& input, const Betas& betas,
                          const std::vector<int64_t>& durations) {
  const Flows flows(input.lattice, betas);
  const at::Tensor zero_ATU = at::zeros_like(input.index_ATU1.squeeze(3), at::kFloat);
  at::Tensor blank_ATU = zero_ATU, label_ATU = zero_ATU;
  std::vector<at::Tensor> by_duration(std::max<size_t>(1, durations.size()), zero_ATU);
  const auto place = [&](const Edges& edges) {
    const auto found = std::find(durations.begin(), durations.end(), edges.duration);
    return durations.empty() ? size_t{0} : static_cast<size_t>(found - durations.begin());
  };
  for (const Edges& edges : input.lattice.blanks) {
    const at::Tensor flow_ATU = flows.of_blanks(edges, betas);
    blank_ATU = blank_ATU + flow_ATU;
    by_duration[place(edges)] = by_duration[place(edges)] + flow_ATU;
  }
  for (const Edges& edges : input.lattice.labels) {
    const at::Tensor flow_ATU = flows.of_labels(edges, betas);
    label_ATU = label_ATU + flow_ATU;
    by_duration[place(edges)] = by_duration[place(edges)] + flow_ATU;
  }
  return {blank_ATU, label_ATU, at::stack(by_duration, 3)};
}

/// d loss / d scores = probability of the label * (flow through the place) - flow of the label.
class TransducerLoss : public torch::autograd::Function<TransducerLoss> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& scores_ATUV,
                            const RecognitionTargets& targets, const TransducerSteps& steps,
                            bool needs_gradient) {
    const LossInput input = loss_input(scores_ATUV, targets, steps);
    const Betas found = betas(input.lattice);
    const at::Tensor loss_A = -found.inside_TAU[0].select(1, 0);
    if (needs_gradient) {
      variable_list saved = saved_flows(input, found, steps.durations);
      saved.push_back(input.index_ATU1);
      saved.push_back(input.label_log_ATUV);
      if (input.duration_log_ATUD.defined()) saved.push_back(input.duration_log_ATUD);
      ctx->save_for_backward(saved);
      ctx->saved_data["blank"] = targets.blank;
      ctx->saved_data["type"] = static_cast<int64_t>(scores_ATUV.scalar_type());
    }
    return at::where(loss_A.isinf(), 0.0, loss_A).to(at::kFloat);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor scale = gradients[0].view({-1, 1, 1, 1});
    const at::Tensor blank_ATU = saved[0] * scale.squeeze(3), through_ATUD = saved[2] * scale;
    const at::Tensor place_ATU1 = through_ATUD.sum(3, /*keepdim=*/true);
    // In place: no other code uses the tensor, and autograd rejects a second backward pass.
    at::Tensor gradient = saved[4].exp_().mul_(place_ATU1);
    gradient.select(3, ctx->saved_data["blank"].toInt()).sub_(blank_ATU);
    gradient.scatter_add_(3, saved[3], (saved[1].unsqueeze(3) * scale).neg_());
    if (saved.size() > 5) {
      gradient = at::cat({gradient, saved[5].exp().mul_(place_ATU1).sub_(through_ATUD)}, 3);
    }
    const auto type = static_cast<at::ScalarType>(ctx->saved_data["type"].toInt());
    return {gradient.to(type), {}, {}, {}};
  }
};

}  // namespace

at::Tensor transducer_loss(const at::Tensor& scores_ATUV, const RecognitionTargets& targets,
                           const TransducerSteps& steps) {
  S2S_ASSERT(scores_ATUV.size(1) > 0, "a batch has a frame");
  const bool needs_gradient = at::GradMode::is_enabled() && scores_ATUV.requires_grad();
  return TransducerLoss::apply(scores_ATUV, targets, steps, needs_gradient);
}

at::Tensor ctc_loss(const at::Tensor& scores_ATV, const RecognitionTargets& targets,
                    bool zero_infinity) {
  const at::Tensor log_TAV = at::log_softmax(scores_ATV, 2, at::kFloat).transpose(0, 1);
  const int64_t missing = targets.labels_AU.size(1) == 0 ? 1 : 0;
  const at::Tensor labels_AU =
      at::constant_pad_nd(targets.labels_AU, {0, missing}, 0).clamp(0, scores_ATV.size(2) - 1);
  return at::ctc_loss(log_TAV, labels_AU, targets.frames_A.to(at::kCPU, at::kLong),
                      targets.lengths_A.to(at::kCPU, at::kLong), targets.blank, at::Reduction::None,
                      zero_infinity);
}

}  // namespace s2s
