#pragma once
// Heads: weights that map hidden states to logits over a vocabulary, and how the tensor axis splits
// them. Shape letters: N positions, H hidden, K vocabularies, V ids of each.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace s2s {

class Communicator;

/// The ids that a rank of the tensor axis has of each vocabulary of a head: `count` ids from
/// `begin` on. Ranks have equal parts, rounded up; the last ranks may have fewer.
struct VocabularySplit {
  Communicator* ranks = nullptr;  // the tensor axis
  int64_t size = 0;               // ids of each vocabulary, all ranks together
  int64_t begin = 0;
  int64_t count = 0;
};

/// The weights of a head, unsharded and ready to be read.
struct HeadWeight {
  at::Tensor weight;                       // [K * V, H]; with a split [K * count, H]
  at::Tensor bias;                         // [K * V] likewise, or undefined
  const VocabularySplit* split = nullptr;  // null: whole
  double soft_cap = 0;  // losses: logits become cap * tanh(logit / cap); 0: no cap
};

/// Logits x W^T + b over all ids, [..., H] -> [..., K * V]. Ranks of a split all-gather theirs;
/// this carries no gradient. num_groups: K.
at::Tensor head_logits(const at::Tensor& x, const HeadWeight& head, int64_t num_groups = 1);

}  // namespace s2s
