#pragma once
// Rows of batches that have a length each, and rows of states that take part in a step. Shape
// letters: B rows, T positions, S samples, R rows of a state.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace s2s {

/// [B, T] bool: true before each row's length.
at::Tensor length_mask(const at::Tensor& lengths_B, int64_t width);

/// x [B, T], truncated or padded with `fill` to `width` columns.
at::Tensor fit_columns(const at::Tensor& x_BT, int64_t width, int64_t fill);

/// `x` with zeros along `dim` from each row's length on; rows are in dim 0. The lengths are on the
/// device of `x`.
at::Tensor zero_beyond(const at::Tensor& x, const at::Tensor& lengths_B, int64_t dim);

/// Audio as whole frames, for Codec::encode.
struct WholeFrames {
  at::Tensor audio_BS;  // zeros beyond each row's length, up to a whole number of frames
  at::Tensor frames_B;  // int64, of each row; an incomplete frame counts
};

/// Shapes: audio [B, S], lengths [B] samples. Both results are on the audio's device.
WholeFrames whole_frames(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                         int64_t samples_per_frame);

/// The elements of an integer tensor, from any device.
std::vector<int64_t> to_vector(const at::Tensor& x);

/// The rows of a step in tensors [R, ...] that keep something of each conversation. Tensors that
/// are undefined stay so.
class StepRows {
 public:
  /// `rows`: one for each row of the step; empty: all. `kept`: one of the tensors.
  StepRows(const std::vector<int64_t>& rows, const at::Tensor& kept);
  /// Those rows of `kept`.
  at::Tensor of(const at::Tensor& kept) const;
  /// `kept` with the values of these rows replaced. The old tensor does not change.
  at::Tensor replaced(const at::Tensor& kept, const at::Tensor& values) const;

 private:
  at::Tensor rows_B_;  // undefined: all
};

}  // namespace s2s
