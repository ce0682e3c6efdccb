#pragma once
// Attention of frames to a window around each, with relative positions, and to global frames.
// Memory and time grow with the number of frames, not with its square.
// Shape letters: B batch, T frames, N blocks, C queries of a block, U keys of a block, P positions
// of a window, G global frames, M = heads x D.
// Source: Beltagy et al. 2020 (arxiv.org/abs/2004.05150); values as in NeMo,
// RelPositionMultiHeadAttentionLongformer.

#include <ATen/core/Tensor.h>

namespace s2s {

/// What a frame sees: so many frames before and after it.
struct AttentionWindow {
  int64_t left = 0, right = 0;

  int64_t positions() const { return left + right + 1; }
  /// Queries of a block. They share keys: a block each before and after theirs, on sides that are
  /// seen.
  int64_t block() const;
  int64_t blocks(int64_t num_frames) const { return (num_frames + block() - 1) / block(); }
  int64_t keys() const { return block() * (1 + (left > 0 ? 1 : 0) + (right > 0 ? 1 : 0)); }
};

/// The sinusoids that the frames of a window get, from the leftmost on. With left = right these are
/// those of their distances. Otherwise NeMo reads the table of the window at places of the wider
/// side: frames get the sinusoid of another distance or, as zeros, none.
/// Shapes: [P, width].
at::Tensor window_positions(AttentionWindow window, int64_t width, at::Device device);

/// The mask to add to the scores of all blocks: 0 for valid keys, -10000 for padding and beyond the
/// ends. `padding`: true beyond a row's length, or undefined.
/// Shapes: padding [B, T, 1] bool -> [B or 1, 1, N, 1, U].
at::Tensor window_mask(AttentionWindow window, int64_t num_frames, const at::Tensor& padding_BT1,
                       const at::TensorOptions& options);

/// Frames that all frames see, and that see all valid frames: 0, spacing, 2 spacing, ...
struct GlobalFrames {
  int64_t count = 0, spacing = 1;
  at::Tensor q_BTM, k_BTM, v_BTM;  // of the scores with global frames
  /// Their number among so many frames.
  int64_t among(int64_t num_frames) const;
};

struct LocalAttentionInput {
  AttentionWindow window;
  at::Tensor q_BTM, k_BTM, v_BTM;
  at::Tensor p_PM;  // projected positions of the window
  at::Tensor bias_u_HD, bias_v_HD;
  at::Tensor mask;         // of window_mask
  at::Tensor padding_BT1;  // or undefined
  double dropout = 0;      // of the attention weights
  GlobalFrames global = {};
};

/// Each frame's weighted values of its window and of the global frames, in one softmax; zero for
/// padding. Then global frames get the weighted values of all valid frames. A global frame counts
/// again where it is in a window. Scores of several global frames with all others take NeMo's
/// queries, which mix heads. NeMo mixes the rows of a batch, too, and padding counts as a global
/// frame; here a row gives what it gives alone.
/// Shapes: -> [B, T, M].
at::Tensor local_attention(const LocalAttentionInput& input);

}  // namespace s2s
