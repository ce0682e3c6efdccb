#include "pieces.h"

#include <ATen/ATen.h>

#include <vector>

#include "s2s/nn/speech_encoder.h"

namespace s2s::wav2vec2 {

Pieces::Pieces(const at::Tensor& frames_B, int64_t width, int64_t piece_frames)
    : width_(width), piece_frames_(piece_frames) {
  const int64_t count = rounded_up(width, piece_frames);
  const at::Tensor frames = frames_B.clamp_max(width);
  const at::Tensor last_B1 = (frames - piece_frames).clamp_min(0).unsqueeze(1);
  first_BK_ = at::minimum(at::arange(count, frames.options()).unsqueeze(0) * piece_frames, last_B1);
  frames_N_ = frames.clamp_max(piece_frames).repeat_interleave(count);
}

at::Tensor Pieces::of(const at::Tensor& audio_BS, int64_t hop, int64_t samples) const {
  const at::Tensor within_1S = at::arange(samples, first_BK_.options()).unsqueeze(0);
  std::vector<at::Tensor> pieces;
  for (int64_t k = 0; k < first_BK_.size(1); ++k) {
    const at::Tensor first_B1 = first_BK_.narrow(1, k, 1) * hop;
    pieces.push_back(audio_BS.gather(1, first_B1 + within_1S));
  }
  return at::stack(pieces, 1).flatten(0, 1);
}

at::Tensor Pieces::joined(const at::Tensor& features_NFH) const {
  const at::Tensor frame_T = at::arange(width_, first_BK_.options());
  const at::Tensor piece_T = at::floor_divide(frame_T, piece_frames_);
  // Frames beyond a row's length are those of padding: any.
  const at::Tensor within_BT =
      (frame_T - first_BK_.index_select(1, piece_T)).clamp_max(piece_frames_ - 1);
  const at::Tensor places_BT1 = (piece_T * piece_frames_ + within_BT).unsqueeze(2);
  const at::Tensor features_BTH = features_NFH.unflatten(0, {first_BK_.size(0), -1}).flatten(1, 2);
  return features_BTH.gather(1, places_BT1.expand({-1, -1, features_BTH.size(2)}));
}

}  // namespace s2s::wav2vec2
