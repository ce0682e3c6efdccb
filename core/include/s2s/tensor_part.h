#pragma once
// Which numbers of a model a rank holds: how layouts tell checkpoints what to write and read.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace s2s {

/// Numbers that lie one after the other in the flattened whole tensor.
struct TensorSpan {
  int64_t begin = 0;
  int64_t count = 0;
};

/// A rank's numbers of one parameter or stored buffer.
struct TensorPart {
  std::string name;
  std::vector<int64_t> sizes;     // of the whole
  std::vector<TensorSpan> spans;  // in the order in which `tensor` holds them; may be none
  at::Tensor tensor;              // contiguous, as many numbers as the spans together
  bool is_owner = true;  // of the ranks that hold the same numbers, the one that saves them
};

/// A tensor as the part that is all of it.
TensorPart whole_part(const std::string& name, const at::Tensor& tensor);

}  // namespace s2s
