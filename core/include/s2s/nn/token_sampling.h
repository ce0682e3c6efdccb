#pragma once
// Chooses tokens from logits: greedily or by sampling. Shape letters: B batch, T positions, P
// positions of a prompt, N new tokens, V vocabulary.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "s2s/kinds/backbone.h"
#include "s2s/options.h"

namespace s2s {

/// How the next token is chosen. The defaults choose greedily.
struct SamplingOptions {
  double temperature = 0;            // logits are divided by it before sampling; 0: greedy
  int64_t top_k = 0;                 // sample from the k most likely tokens; 0: from all
  double top_p = 1;                  // sample from the smallest set with this total probability
  double repetition_penalty = 1;     // above 1: makes earlier tokens less likely
  int64_t no_repeat_ngram_size = 0;  // no n-gram of this size occurs twice; 0: off
  int64_t seed = 0;
  void visit(OptionVisitor& v);
};

/// Logits after repetition penalty and n-gram blocking and, when sampling, temperature, top k and
/// top p, in this order. float32, -inf for excluded tokens.
/// Shapes: logits [B, V], so_far [B, T] int64 (prompt and generated tokens; -1: no token, ignored
/// by the penalty) -> [B, V].
/// Source: transformers generation/logits_process.py.
at::Tensor sampling_scores(const at::Tensor& logits_BV, const at::Tensor& so_far_BT,
                           const SamplingOptions& options);

/// Chooses tokens without a wait for the device. Random numbers come from a generator of the
/// logits' device, so a seed gives the same tokens on one kind of device, and others elsewhere.
class Sampler {
 public:
  explicit Sampler(SamplingOptions options);
  /// Shapes: as sampling_scores -> [B] int64, on the logits' device.
  at::Tensor next(const at::Tensor& logits_BV, const at::Tensor& so_far_BT);
  /// The stream of random numbers on a device, which begins at the seed.
  const at::Generator& generator(at::Device device);

 private:
  SamplingOptions options_;
  at::Generator generator_;
};

/// Generates `count` new tokens for each row of the prompt; no token stops the generation.
/// Shapes: prompt [B, P] int64, P > 0 -> [B, N] int64.
at::Tensor generate_tokens(Backbone& model, const at::Tensor& prompt_BP, int64_t count,
                           Sampler& sampler);

}  // namespace s2s
