#pragma once
// Describes which elements of a model a rank has. Checkpoints use it to write and read shards.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace s2s {

/// A contiguous range of elements of the flattened whole tensor.
struct TensorSpan {
  int64_t begin = 0;
  int64_t count = 0;
};

/// A rank's elements of one parameter or stored buffer.
struct LocalShard {
  std::string name;
  std::vector<int64_t> sizes;     // of the whole
  std::vector<TensorSpan> spans;  // in the order of `tensor`; may be empty
  at::Tensor tensor;              // contiguous; the elements of all spans
  bool is_owner = true;           // true on the one rank that saves these elements
};

/// The shard that is a whole tensor.
LocalShard whole_shard(const std::string& name, const at::Tensor& tensor);

}  // namespace s2s
