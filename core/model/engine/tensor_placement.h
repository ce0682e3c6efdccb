#pragma once
// The elements of a parameter that a rank of the tensor axis holds.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "s2s/kinds/communicator.h"
#include "s2s/parallel/local_shard.h"

namespace s2s {

/// Part `part` of `num_parts` of a dim. Sizes are rounded up, so the last parts may be empty.
struct DimShard {
  int dim = -1;        // 0, 1, or -1 when the tensor is not split
  int64_t groups = 1;  // dim 0 consists of this many equal groups, each of which is split
  int64_t part = 0;
  int64_t num_parts = 1;

  /// Returns the start and the length of this part of a group of `size`.
  TensorSpan of(int64_t size) const;
  std::vector<TensorSpan> spans(const std::vector<int64_t>& sizes) const;
  /// Returns a view of this part of a split tensor, group by group: [groups, length, ...]; for dim
  /// 1: [1, rows, length, ...]. Its elements are in the order of the spans.
  at::Tensor view(const at::Tensor& whole) const;
  /// Returns a copy of this part, or `whole` itself when the tensor is not split.
  at::Tensor cut(const at::Tensor& whole) const;
};

struct TensorPlacement {
  std::vector<int64_t> sizes;     // full sizes
  DimShard part;                  // the part of this rank
  std::vector<TensorSpan> spans;  // this rank's elements, in the order of its tensor
  int64_t copies = 1;             // ranks of the tensor axis that hold the same elements
  bool is_first_copy = true;      // among these copies, the one that counts in norms and is saved
  // The gradient must be summed over these ranks; null: it is complete.
  Communicator* partial = nullptr;
};

}  // namespace s2s
