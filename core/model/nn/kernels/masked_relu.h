#pragma once
// Zeros beyond each row's length.  Shape letters: B batch, T frames, * anything.

#include <ATen/core/Tensor.h>

namespace s2s {

/// [B, T, *] with the frames beyond each length (int64 [B]) set to zero, in a copy.
at::Tensor masked_frames(const at::Tensor& x, const at::Tensor& lengths_B);

/// The same after a ReLU. Takes over the memory of `x`, which must be the fresh result of an
/// operation that does not need it for its own backward; the result alone serves this backward.
at::Tensor masked_relu(const at::Tensor& x, const at::Tensor& lengths_B);

}  // namespace s2s
