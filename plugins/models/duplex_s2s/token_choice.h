#pragma once
// Chooses tokens from the logits of both channels: greedily, as NeMo does, or by sampling. Shape
// letters: B batch, T frames, K codebooks, V vocabulary of a channel.

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

 private:
  bool draws_;       // false: greedy
  bool has_guards_;  // repetition penalties are on
  SpecialIds ids_;
  Sampler text_, audio_;
  at::Tensor words_BT_;  // words so far, -1 for other tokens; only with penalties
};

}  // namespace s2s::duplex
