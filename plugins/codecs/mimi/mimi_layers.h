#pragma once
// Causal layers that compute audio piece by piece. Their weights are buffers, because a codec is
// frozen. Every layer keeps what it needs of earlier pieces in a MimiState, so that pieces give the
// results of the whole. Shape letters: B batch, C channels, T positions of the layer, H hidden.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mimi_options.h"
#include "s2s/nn/block.h"
#include "s2s/nn/decoder.h"

namespace s2s::mimi {

/// What layers keep between pieces.
struct MimiState {
  std::map<const void*, at::Tensor> pasts;                          // of convolutions
  std::map<const void*, std::pair<at::Tensor, at::Tensor>> caches;  // keys and values
  std::map<const void*, int64_t> positions;                         // of transformers
};

/// A tensor of the checkpoint, and a bias of `num_biases` elements (0: none). `fan_in`: inputs of
/// one output, for random values; 0: ones.
class Weights : public Block {
 public:
  Weights(const std::string& name, std::vector<int64_t> sizes, int64_t fan_in, int64_t num_biases);
  ~Weights() override;
  at::Tensor value, bias;  // bias undefined without one

 protected:
  void reset_buffers() override;

 private:
  std::vector<int64_t> sizes_;
  int64_t fan_in_, num_biases_;
};

/// Sizes of a convolution.
struct ConvSizes {
  int64_t inputs = 1, outputs = 1, kernel = 1, stride = 1, dilation = 1, groups = 1;
  bool has_bias = true;
  bool repeats_first = false;  // before the audio: the first value instead of zeros
};

/// Convolution over the positions so far. [B, C, T], T a multiple of the stride -> [B, C', T /
/// stride].
class CausalConv : public Block {
 public:
  explicit CausalConv(const ConvSizes& sizes);
  ~CausalConv() override;
  at::Tensor push(const at::Tensor& x_BCT, MimiState& state) const;

 private:
  ConvSizes sizes_;
  Weights conv_;
};

/// Transposed convolution without the outputs that later positions add to. [B, C, T] -> [B, C', T *
/// stride].
class CausalUpsampling : public Block {
 public:
  explicit CausalUpsampling(const ConvSizes& sizes);
  ~CausalUpsampling() override;
  at::Tensor push(const at::Tensor& x_BCT, MimiState& state) const;

 private:
  ConvSizes sizes_;
  Weights conv_;
};

/// x + conv(elu(conv(elu(x)))).
class ResidualBlock : public Block {
 public:
  ResidualBlock(const MimiOptions& options, int64_t channels, int64_t dilation);
  ~ResidualBlock() override;
  at::Tensor push(const at::Tensor& x_BCT, MimiState& state) const;

 private:
  CausalConv first_, second_;
};

/// Layers of causal attention in a window, and of MLPs, each with a norm before and a scale behind.
class MimiTransformer : public Block {
 public:
  explicit MimiTransformer(const MimiOptions& options);
  ~MimiTransformer() override;
  /// [B, H, T] -> [B, H, T].
  at::Tensor push(const at::Tensor& x_BHT, MimiState& state) const;

 private:
  struct Layer;
  at::Tensor attend(const Layer& layer, const at::Tensor& x_BTH,
                    const std::pair<at::Tensor, at::Tensor>& angles, int64_t begin,
                    MimiState& state) const;

  MimiOptions options_;
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace s2s::mimi
