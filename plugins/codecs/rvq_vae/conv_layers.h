#pragma once
// The layers of the codec's encoder and decoder. Shape letters: B batch, C channels, T frames of
// the layer.

#include <cstdint>

#include "s2s/nn/audio.h"

namespace s2s::rvq_vae {

/// Normalizes over channels. Source: NeMo's LayerNormNd.
class ChannelNorm : public Block {
 public:
  explicit ChannelNorm(int64_t channels);
  ~ChannelNorm() override;
  /// [B, C, T] -> [B, C, T].
  at::Tensor operator()(const at::Tensor& x_BCT) const;

 protected:
  void reset_buffers() override;

 private:
  int64_t channels_;
  at::Tensor weight_, bias_;
};

/// x + pointwise(gelu(pointwise(norm(causal depthwise convolution of x)))).
/// Source: NeMo's ConvNeXt1d.
class ConvNeXt : public AudioLayer {
 public:
  ConvNeXt(int64_t channels, int64_t kernel_size);
  ~ConvNeXt() override;
  /// [B, C, T] -> [B, C, T].
  at::Tensor push(const at::Tensor& x_BCT, StreamState& state, bool is_last) const override;

 private:
  StreamConv1d dwconv_;
  ChannelNorm norm_;
  StreamConv1d pwconv1_, pwconv2_;
};

}  // namespace s2s::rvq_vae
