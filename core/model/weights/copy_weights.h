#pragma once
// Stored elements into a model's memory, checked for NaN and infinity on the way.

#include <ATen/core/Tensor.h>

#include <string>

#include "s2s/nn/weights.h"

namespace s2s {

/// Copies and casts `value`. `source` and `name` are for messages.
/// Errors: [weights/not-finite]; elements before that one may be copied then.
void copy_checked(const std::string& source, const std::string& name, const at::Tensor& value,
                  const at::Tensor& destination);

/// A tensor of files, or a part of it.
struct StoredPart {
  const std::string& name;
  const TensorSlice* slice = nullptr;  // all of it without one
  const TensorFacts& facts;
};

/// The same from files, and no memory is needed beside the destination's but for parts whose
/// elements do not follow each other in the file. Errors: also [weights/slice],
/// [weights/no-tensor].
void copy_stored(const WeightFiles& files, const StoredPart& part, const at::Tensor& destination);

}  // namespace s2s
