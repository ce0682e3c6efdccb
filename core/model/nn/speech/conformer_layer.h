#pragma once
// A Conformer block.
// Shape letters: B batch, T frames, U keys, P relative positions, H width, C = H.

#include <memory>
#include <optional>

#include "nn/speech/conformer_subsampling.h"
#include "nn/speech/local_attention.h"
#include "s2s/nn/conformer.h"
#include "s2s/nn/layers.h"

namespace s2s {

/// Inputs that all blocks of a forward pass share.
struct FrameContext {
  at::Tensor positions_PH;  // rel_pos: sinusoids from T - 1 down to -(T - 1); of window_positions
  // Added to scores. rel_pos, abs_pos: broadcast to [B, T, T], or undefined: all frames are
  // visible. rel_pos_local_attn: of window_mask.
  at::Tensor mask;
  at::Tensor padding_BT1;  // true beyond a row's length; undefined: no row has padding
};

/// The state of one block in a live conversation.
struct LayerCache {
  at::Tensor k_BUH, v_BUH;  // of the left context
  at::Tensor conv_BTH;      // inputs of the depth-wise convolution
  at::Tensor input_BUH;     // what k and v were made of; undefined: it is not kept
};

/// Biases of the position scores. When tied, all blocks share them.
struct PositionBiases {
  at::Tensor u_HD, v_HD;
};

class ConformerFeedForward : public Block {
 public:
  ConformerFeedForward(int64_t width, int64_t inner, bool with_bias, double dropout);
  ~ConformerFeedForward() override;
  at::Tensor forward(const at::Tensor& x_BTH);

 private:
  Linear linear1_, linear2_;
  double dropout_;
};

class ConformerAttention : public Block {
 public:
  /// tied: biases that all blocks share, or null.
  ConformerAttention(const ConformerOptions& options, PositionBiases* tied);
  ~ConformerAttention() override;
  at::Tensor forward(const at::Tensor& x_BTH, const FrameContext& context);
  /// Processes the frames of one chunk, which see the cache and each other. positions: from U - 1
  /// down to -(T - 1), already projected.
  at::Tensor stream(const at::Tensor& x_BTH, const at::Tensor& projected_PH, int64_t left_frames,
                    LayerCache& cache);
  at::Tensor project_positions(const at::Tensor& positions_PH) {
    return (*linear_pos_)(positions_PH);
  }

 private:
  at::Tensor to_all(const at::Tensor& x_BTH, const FrameContext& context);
  at::Tensor to_window(const at::Tensor& x_BTH, const FrameContext& context);
  at::Tensor without_positions(const at::Tensor& x_BTH, const FrameContext& context);

  Linear linear_q_, linear_k_, linear_v_, linear_out_;
  std::unique_ptr<Linear> linear_pos_;                      // null: abs_pos
  std::unique_ptr<Linear> global_q_, global_k_, global_v_;  // of global frames, or null
  std::optional<AttentionWindow> window_;                   // of rel_pos_local_attn
  int64_t heads_, global_count_, global_spacing_;
  PositionBiases own_;
  PositionBiases& biases_;
  double dropout_;
};

class ConformerConvolution : public Block {
 public:
  ConformerConvolution(const ConformerOptions& options, ConformerOptions::Context context);
  ~ConformerConvolution() override;
  at::Tensor forward(const at::Tensor& x_BTH, const at::Tensor& padding_BT1);
  at::Tensor stream(const at::Tensor& x_BTH, LayerCache& cache);

 private:
  class Norm;
  at::Tensor gated(const at::Tensor& x_BTH);
  /// Depth-wise convolution of padded frames, norm, activation and 1 x 1 convolution.
  at::Tensor finish(const at::Tensor& padded_BTH);

  ConvWeights pointwise1_, depthwise_, pointwise2_;
  std::unique_ptr<Norm> norm_;
  ConformerOptions::Context context_;
};

class ConformerLayer : public BlockOf<const FrameContext&> {
 public:
  ConformerLayer(const ConformerOptions& options, ConformerOptions::Context conv_context,
                 PositionBiases* tied);
  ~ConformerLayer() override;
  ConformerAttention& attention() { return self_attn_; }
  LayerCache empty_cache(int64_t batch_size, const at::Tensor& like) const;
  at::Tensor stream(const at::Tensor& x_BTH, const at::Tensor& projected_PH, int64_t left_frames,
                    LayerCache& cache);

 protected:
  at::Tensor forward(const at::Tensor& x_BTH, const FrameContext& context) override;

 private:
  LayerNorm norm_feed_forward1_, norm_self_att_, norm_conv_, norm_feed_forward2_, norm_out_;
  ConformerFeedForward feed_forward1_, feed_forward2_;
  ConformerAttention self_attn_;
  ConformerConvolution conv_;
  double dropout_;
  int64_t width_, conv_left_;
};

}  // namespace s2s
