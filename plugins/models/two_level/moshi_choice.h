#pragma once
// Chooses the tokens of a conversation, greedily or by sampling. Shape letters: B batch, V
// vocabulary.

#include <vector>

#include "s2s/nn/token_sampling.h"

namespace s2s::two_level {

class TokenChoice {
 public:
  /// pad: the id of frames without text; -1: none.
  TokenChoice(const SamplingOptions& options, int64_t pad);
  /// Text logits [B, V] -> [B].
  at::Tensor text(const at::Tensor& logits_BV);
  /// What was said; repetition penalties do not see PAD, which fills most frames. Without penalties
  /// nothing is kept.
  void said(const at::Tensor& text_B);
  /// Logits of one book [B, V] -> [B].
  at::Tensor code(const at::Tensor& logits_BV);

 private:
  int64_t pad_;
  bool has_guards_;  // repetition penalties are on
  Sampler text_, audio_;
  std::vector<at::Tensor> words_;
};

}  // namespace s2s::two_level
