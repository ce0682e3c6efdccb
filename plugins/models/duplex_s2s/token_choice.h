#pragma once
// Chooses tokens from the logits of both channels: greedily, as NeMo does, or by sampling. Shape
// letters: B batch, T frames, K codebooks, V vocabulary of a channel.

#include <vector>

#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/token_sampling.h"

namespace s2s::duplex {

/// Chooses the tokens of one conversation (or of one batch of them), frame by frame.
class TokenChoice {
 public:
  TokenChoice(const SamplingOptions& options, const SpecialIds& ids);
  /// logits [B, V] -> [B] int64. Repetition penalties apply only to words, because PAD fills most
  /// frames, and every turn has a BOS and an EOS.
  at::Tensor text(const at::Tensor& logits_BV);
  /// logits [B, K, V] -> [B, K] int64.
  at::Tensor codes(const at::Tensor& logits_BKV);
  /// True if every frame launches the same work. Penalties look at more words from frame to frame.
  bool steps_repeat() const { return !has_guards_; }
  /// The random streams that frames draw from.
  std::vector<at::Generator> generators(at::Device device);

 private:
  at::Tensor words_so_far(const at::Tensor& logits_BV);

  bool draws_;       // false: greedy
  bool has_guards_;  // repetition penalties are on
  SpecialIds ids_;
  Sampler text_, audio_;
  at::Tensor words_BT_;  // -1 for tokens that are no words; only with penalties; doubled when full
  int64_t num_words_ = 0;
};

}  // namespace s2s::duplex
