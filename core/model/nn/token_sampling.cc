#include "s2s/nn/token_sampling.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "s2s/error.h"

namespace s2s {
namespace {

constexpr float kExcluded = -INFINITY;

/// Sums values [B, T] by their ids into [B, V]. The id -1 goes to an extra column that is dropped.
at::Tensor sum_by_id(const at::Tensor& scores_BV, const at::Tensor& ids_BT, const at::Tensor& of) {
  const int64_t num_ids = scores_BV.size(1);
  const at::Tensor counts = at::zeros({scores_BV.size(0), num_ids + 1}, ids_BT.options());
  return counts.scatter_add(1, ids_BT + 1, of).narrow(1, 1, num_ids);
}

/// Divides positive scores of earlier tokens by the penalty, and multiplies negative ones by it.
at::Tensor penalized(const at::Tensor& scores_BV, const at::Tensor& so_far_BT, double penalty) {
  const at::Tensor were_there = sum_by_id(scores_BV, so_far_BT, at::ones_like(so_far_BT)) > 0;
  const at::Tensor changed = at::where(scores_BV < 0, scores_BV * penalty, scores_BV / penalty);
  return at::where(were_there, changed, scores_BV);
}

/// Excludes tokens that would repeat an earlier sequence of `size` tokens.
at::Tensor without_repeated_ngrams(const at::Tensor& scores_BV, const at::Tensor& so_far_BT,
                                   int64_t size) {
  const int64_t length = so_far_BT.size(1);
  if (length < size) return scores_BV;
  const at::Tensor all = so_far_BT.unfold(1, size, 1);  // [B, length - size + 1, size]
  const at::Tensor begun = so_far_BT.narrow(1, length - size + 1, size - 1).unsqueeze(1);
  const at::Tensor is_begun = all.narrow(2, 0, size - 1).eq(begun).all(-1);
  const at::Tensor excluded = sum_by_id(scores_BV, all.select(2, size - 1), is_begun.to(at::kLong));
  return scores_BV.masked_fill(excluded > 0, kExcluded);
}

at::Tensor likeliest(const at::Tensor& scores_BV, int64_t top_k) {
  const int64_t count = std::min(top_k, scores_BV.size(1));
  const at::Tensor smallest = std::get<0>(scores_BV.topk(count)).narrow(1, count - 1, 1);
  return scores_BV.masked_fill(scores_BV < smallest, kExcluded);
}

/// Keeps the smallest set of tokens with the total probability top_p, at least one.
at::Tensor nucleus(const at::Tensor& scores_BV, double top_p) {
  const auto [sorted, order] = scores_BV.sort(/*dim=*/1, /*descending=*/false);
  at::Tensor excluded = sorted.softmax(-1).cumsum(-1) <= 1 - top_p;
  excluded.select(1, excluded.size(1) - 1).fill_(false);
  return scores_BV.masked_fill(excluded.scatter(1, order, excluded), kExcluded);
}

}  // namespace

void SamplingOptions::visit(OptionVisitor& v) {
  v("temperature", temperature, "sampling temperature; 0: always the most likely token",
    at_least(0));
  v("top_k", top_k, "sample from the k most likely tokens; 0: from all", at_least(0));
  v("top_p", top_p,
    "nucleus sampling: sample from the smallest set of tokens with this total probability",
    between(0, 1));
  v("repetition_penalty", repetition_penalty, "above 1: makes tokens already generated less likely",
    at_least(1e-6));
  v("no_repeat_ngram_size", no_repeat_ngram_size,
    "no sequence of this many tokens occurs twice; 0: no limit", at_least(0));
  v("seed", seed, "random seed of sampling", at_least(0));
}

at::Tensor sampling_scores(const at::Tensor& logits_BV, const at::Tensor& so_far_BT,
                           const SamplingOptions& options) {
  at::Tensor scores_BV = logits_BV.to(at::kFloat);
  if (options.repetition_penalty != 1) {
    scores_BV = penalized(scores_BV, so_far_BT, options.repetition_penalty);
  }
  if (options.no_repeat_ngram_size > 0) {
    scores_BV = without_repeated_ngrams(scores_BV, so_far_BT, options.no_repeat_ngram_size);
  }
  if (options.temperature == 0) return scores_BV;
  scores_BV = scores_BV / options.temperature;
  if (options.top_k > 0) scores_BV = likeliest(scores_BV, options.top_k);
  return options.top_p < 1 ? nucleus(scores_BV, options.top_p) : scores_BV;
}

Sampler::Sampler(SamplingOptions options) : options_(options) {}

const at::Generator& Sampler::generator(at::Device device) {
  if (generator_.defined() && generator_.device().type() == device.type()) return generator_;
  generator_ = device.is_cpu() ? at::detail::createCPUGenerator()
                               : at::globalContext()
                                     .getAcceleratorHooksInterface(device.type())
                                     .getNewGenerator(device.index());
  generator_.set_current_seed(static_cast<uint64_t>(options_.seed));
  return generator_;
}

at::Tensor Sampler::next(const at::Tensor& logits_BV, const at::Tensor& so_far_BT) {
  const at::NoGradGuard no_grad;
  const at::Tensor scores_BV = sampling_scores(logits_BV, so_far_BT, options_);
  if (options_.temperature == 0) return scores_BV.argmax(-1);
  const at::Tensor chances_BV = scores_BV.to(at::kDouble).softmax(-1);
  const at::Tensor drawn =
      at::rand({chances_BV.size(0), 1}, generator(chances_BV.device()), chances_BV.options());
  // Pick the first token at which the cumulative probability exceeds the draw. A token of
  // probability 0 is never picked.
  const at::Tensor sums_BV = chances_BV.cumsum(-1);
  const at::Tensor total_B1 = sums_BV.narrow(1, sums_BV.size(1) - 1, 1);
  const at::Tensor is_before = sums_BV <= drawn * total_B1;
  return is_before.logical_and(sums_BV < total_B1).sum(-1);
}

at::Tensor generate_tokens(Backbone& model, const at::Tensor& prompt_BP, int64_t count,
                           Sampler& sampler) {
  const at::NoGradGuard no_grad;
  const int64_t begin = prompt_BP.size(1);
  S2S_ASSERT(begin > 0, "the first token follows something");
  const at::Tensor all = at::empty({prompt_BP.size(0), begin + count}, prompt_BP.options());
  all.narrow(1, 0, begin).copy_(prompt_BP);
  SequenceState state(model.shape().num_layers);
  state.reserve(begin + count, prompt_BP.device());
  SequenceInfo info;
  info.state = &state;
  at::Tensor step = prompt_BP;
  for (int64_t length = begin; length < begin + count; ++length) {
    const at::Tensor hidden = model(model.embed(step), info);
    const at::Tensor logits_BV = model.logits(hidden.narrow(1, hidden.size(1) - 1, 1)).squeeze(1);
    step = sampler.next(logits_BV, all.narrow(1, 0, length)).unsqueeze(1);
    all.narrow(1, length, 1).copy_(step);
  }
  return all.narrow(1, begin, count);
}

}  // namespace s2s
