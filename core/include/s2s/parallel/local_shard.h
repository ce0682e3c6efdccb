#pragma once
// Which elements of a model a rank holds: how layouts tell checkpoints what to write and read.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace s2s {

/// Elements that lie one after the other in the flattened whole tensor.
struct TensorSpan {
  int64_t begin = 0;
  int64_t count = 0;
};

/// A rank's elements of one parameter or stored buffer.
struct LocalShard {
  std::string name;
  std::vector<int64_t> sizes;     // of the whole
  std::vector<TensorSpan> spans;  // in the order in which `tensor` holds them; may be none
  at::Tensor tensor;              // contiguous, as many elements as the spans together
  bool is_owner = true;  // of the ranks that hold the same elements, the one that saves them
};

/// A tensor as the part that is all of it.
LocalShard whole_shard(const std::string& name, const at::Tensor& tensor);

}  // namespace s2s
