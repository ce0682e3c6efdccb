#pragma once
// The layers of the codec's encoder and decoder. Their weights are buffers, because a codec is
// frozen. Shape letters: B batch, C channels, T frames of the layer.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "s2s/nn/block.h"

namespace s2s::rvq_vae {

constexpr int64_t kNoPadding = 0;  // as a literal, 0 is also a null string

/// A convolution's weight, and its bias if it has one. The caller convolves.
class ConvWeights : public Block {
 public:
  /// sizes: of the weight. fan_in: inputs of one output, for random values.
  ConvWeights(std::vector<int64_t> sizes, int64_t fan_in, bool bias, int64_t num_outputs);
  ~ConvWeights() override;
  at::Tensor weight, bias;  // bias undefined without one

 protected:
  void reset_buffers() override;

 private:
  std::vector<int64_t> sizes_;
  int64_t fan_in_, num_outputs_;
  bool has_bias_;
};

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
class ConvNeXt : public Block {
 public:
  ConvNeXt(int64_t channels, int64_t kernel_size);
  ~ConvNeXt() override;
  /// [B, C, T] -> [B, C, T]. `past`: the inputs before x, [B, C, kernel_size - 1], or undefined for
  /// zeros; replaced by those before the next call's.
  at::Tensor operator()(const at::Tensor& x_BCT, at::Tensor& past) const;

 private:
  int64_t channels_, kernel_size_;
  ConvWeights dwconv_;
  ChannelNorm norm_;
  ConvWeights pwconv1_, pwconv2_;
};

}  // namespace s2s::rvq_vae
