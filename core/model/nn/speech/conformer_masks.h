#pragma once
// Which frames see which, and the table of relative positions.
// Shape letters: B batch, T frames, P = 2 T - 1 positions, H width.

#include <ATen/core/Tensor.h>

#include "s2s/nn/conformer.h"

namespace s2s {

/// Sinusoids of the relative positions from `first` down to `last`, both included, in float32.
/// Shapes: [first - last + 1, width].   Source: NeMo, RelPositionalEncoding.
at::Tensor relative_positions(int64_t first, int64_t last, int64_t width, at::Device device);

/// Where a frame (row) sees another (column), for the longest row; undefined: everywhere.
/// chunked: frames see their own chunk of right + 1 frames and left / (right + 1) chunks before it.
/// Shapes: [T, T] bool.
at::Tensor visible_frames(int64_t num_frames, ConformerOptions::Context context, bool chunked,
                          at::Device device);

/// Added to attention scores: 0 where a valid frame is visible, -10000 elsewhere.
/// Shapes: visible [T, T] or undefined, padding [B, T, 1] bool or undefined -> [B or 1, T or 1, T],
/// undefined when both are.
at::Tensor score_mask(const at::Tensor& visible_TT, const at::Tensor& padding_BT1,
                      at::ScalarType type);

}  // namespace s2s
