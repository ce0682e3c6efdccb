#pragma once
// From the logits of both channels to tokens: the likeliest, as NeMo, or draws.
// Shape letters: B batch, T frames, K codebooks, V vocabulary of a channel.

#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/token_sampling.h"

namespace s2s::duplex {

/// Chooses the tokens of one conversation (or of one batch of them), frame by frame.
class TokenChoice {
 public:
  TokenChoice(const SamplingOptions& options, const SpecialIds& ids);
  /// logits [B, V] -> [B] int64. The guard against repetition is for words: PAD fills most frames,
  /// and every turn has its BOS and EOS.
  at::Tensor text(const at::Tensor& logits_BV);
  /// logits [B, K, V] -> [B, K] int64.
  at::Tensor codes(const at::Tensor& logits_BKV);

 private:
  bool draws_;       // otherwise the likeliest
  bool has_guards_;  // against repeated words
  SpecialIds ids_;
  Sampler text_, audio_;
  at::Tensor words_BT_;  // what was said, -1 where it was no word; kept for guards only
};

}  // namespace s2s::duplex
