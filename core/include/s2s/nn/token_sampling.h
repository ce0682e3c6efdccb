#pragma once
// From logits to tokens: the likeliest, or a draw.
// Shape letters: B batch, T positions, P positions of a prompt, N new tokens, V vocabulary.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "s2s/kinds/backbone.h"
#include "s2s/options.h"

namespace s2s {

/// How the next token is chosen. The defaults choose the likeliest.
struct SamplingOptions {
  double temperature = 0;            // logits are divided by it before a draw; 0: no draw
  int64_t top_k = 0;                 // draw among the k likeliest; 0: all
  double top_p = 1;                  // draw among the fewest that together have this probability
  double repetition_penalty = 1;     // above 1: tokens that were there become less likely
  int64_t no_repeat_ngram_size = 0;  // no n tokens in a row come twice; 0: they may
  int64_t seed = 0;
  void visit(OptionVisitor& v);
};

/// Logits after the guards against repetition and, when there is a draw, temperature, top k and
/// top p, in this order; float32, -inf where a token is excluded.
/// Shapes: logits [B, V], so_far [B, T] int64 (prompt and what was generated; -1: no token, which
/// the penalty passes over) -> [B, V].
/// Source: transformers generation/logits_process.py.
at::Tensor sampling_scores(const at::Tensor& logits_BV, const at::Tensor& so_far_BT,
                           const SamplingOptions& options);

/// Chooses tokens. Draws come from one random stream on the CPU, so that a seed gives the same
/// tokens on every device as long as the logits agree.
class Sampler {
 public:
  explicit Sampler(SamplingOptions options);
  /// Shapes: as sampling_scores -> [B] int64, on the logits' device.
  at::Tensor next(const at::Tensor& logits_BV, const at::Tensor& so_far_BT);

 private:
  SamplingOptions options_;
  at::Generator generator_;
};

/// `count` new tokens after each row of the prompt, without a stop at any token.
/// Shapes: prompt [B, P] int64, P > 0 -> [B, N] int64.
at::Tensor generate_tokens(Backbone& model, const at::Tensor& prompt_BP, int64_t count,
                           Sampler& sampler);

}  // namespace s2s
