#pragma once
// Which elements of a parameter a rank of the tensor axis holds.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "s2s/kinds/communicator.h"
#include "s2s/parallel/local_shard.h"

namespace s2s {

/// Part `part` of `num_parts` of a dim, rounded up: the last ones may be smaller or empty.
struct DimShard {
  int dim = -1;        // 0, 1, or -1 for a whole tensor
  int64_t groups = 1;  // dim 0 is made of so many equal pieces, each of which is split
  int64_t part = 0;
  int64_t num_parts = 1;

  /// Of a piece of `size`: where this part begins, and its length.
  TensorSpan of(int64_t size) const;
  std::vector<TensorSpan> spans(const std::vector<int64_t>& sizes) const;
  /// This part of a tensor that is split, piece by piece: [pieces, length, ...], or, of dim 1, [1,
  /// rows, length, ...]. Its elements follow each other as the spans do.
  at::Tensor view(const at::Tensor& whole) const;
  /// A copy of this part, or `whole` itself where nothing is split.
  at::Tensor cut(const at::Tensor& whole) const;
};

/// How one parameter lies on the tensor axis.
struct TensorPlacement {
  std::vector<int64_t> sizes;       // of the whole
  DimShard part;                    // this rank's
  std::vector<TensorSpan> spans;    // its elements, in the order in which the tensor holds them
  int64_t copies = 1;               // ranks of the tensor axis that hold the same elements
  bool is_first_copy = true;        // of those, this is the one that counts in norms and saves
  Communicator* partial = nullptr;  // the gradient is a part of a sum over these; null: complete
};

}  // namespace s2s
