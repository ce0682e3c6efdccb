#pragma once
// Heads: weights whose products with hidden states are logits over a vocabulary, and how a tensor
// axis splits them.
// Shape letters: N positions, H hidden, K vocabularies, V ids of each.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace s2s {

class Communicator;

/// What a rank of the tensor axis holds of each of a head's vocabularies: the ids from `begin` on,
/// `count` of them. Ranks hold equal parts, rounded up; the last ones may hold fewer.
struct VocabularySplit {
  Communicator* ranks = nullptr;  // the tensor axis
  int64_t size = 0;               // ids of each vocabulary, all ranks together
  int64_t begin = 0;
  int64_t count = 0;
};

/// A head, ready to be read.
struct HeadWeight {
  at::Tensor weight;                       // [K * V, H]; with a split [K * count, H]
  at::Tensor bias;                         // [K * V] likewise, or undefined
  const VocabularySplit* split = nullptr;  // null: whole
};

/// Logits x W^T + b over all ids, [..., H] -> [..., K * V]; ranks of a split exchange theirs.
/// num_groups: K. No gradient flows through the exchange.
at::Tensor head_logits(const at::Tensor& x, const HeadWeight& head, int64_t num_groups = 1);

}  // namespace s2s
