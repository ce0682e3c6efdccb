#pragma once
// Pieces of long recordings. Shape letters: B rows, K pieces of a row, N pieces of all rows, S
// samples, T frames, F frames of a piece, H width.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace s2s::wav2vec2 {

/// Cuts rows of frames into pieces of F frames: the first F, the next F, and so on. The last piece
/// of a row ends with the row, so that it is whole, too. It may begin in the piece before, which
/// then gives the frames of both. A row depends on its own length alone.
class Pieces {
 public:
  /// frames_B: of each row, int64; width: of the padded rows, more than piece_frames.
  Pieces(const at::Tensor& frames_B, int64_t width, int64_t piece_frames);
  /// Valid frames of each piece.
  const at::Tensor& frames_N() const { return frames_N_; }
  /// Audio [B, S] -> [N, samples]: `samples` of each piece, whose frames are `hop` samples apart.
  at::Tensor of(const at::Tensor& audio_BS, int64_t hop, int64_t samples) const;
  /// Frames of all pieces [N, F, H] -> [B, T, H].
  at::Tensor joined(const at::Tensor& features_NFH) const;

 private:
  int64_t width_, piece_frames_;
  at::Tensor first_BK_;  // first frame of each piece
  at::Tensor frames_N_;
};

}  // namespace s2s::wav2vec2
