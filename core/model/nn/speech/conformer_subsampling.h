#pragma once
// Subsampling of mel features before the Conformer layers.
// Shape letters: B batch, T frames, F frequencies, C channels, H features out.

#include <memory>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/nn/layers.h"

namespace s2s {

/// The weights of a convolution. Names and initial values are those of torch.nn.Conv1d and Conv2d.
class ConvWeights : public Block {
 public:
  /// sizes: [out, in per group, kernel...].
  ConvWeights(std::vector<int64_t> sizes, bool with_bias);
  ~ConvWeights() override;
  at::Tensor weight, bias;
};

/// The frames of a Subsampling on live audio.
class SubsamplingStream {
 public:
  virtual ~SubsamplingStream();
  /// [B, T, F] -> the frames that are now complete, [B, T', H].
  virtual at::Tensor push(const at::Tensor& x_BTF) = 0;
  virtual at::Tensor finish() = 0;
};

/// Fewer frames of another width. Frames beyond a row's length do not affect valid frames.
/// Shapes: x [B, T, F], lengths [B] -> [B, output_frames(T), H].
class Subsampling : public BlockOf<const at::Tensor&> {
 public:
  ~Subsampling() override;
  virtual int64_t output_frames(int64_t num_frames) const = 0;
  virtual at::Tensor output_frames(const at::Tensor& lengths_B) const = 0;
  virtual const at::Tensor& weight() const = 0;
  /// Floating-point operations of the products for one row of `num_frames` input frames.
  virtual double forward_flops(int64_t num_frames) const = 0;
  /// Returns null if frames depend on later ones.
  virtual std::unique_ptr<SubsamplingStream> open_stream(int64_t batch_size) = 0;
};

struct StridingShape {
  int64_t feat_in = 80;
  int64_t channels = 256;
  int64_t d_model = 512;
  int64_t num_stages = 3;  // each by a factor of two
  bool causal = false;
  bool depthwise = true;  // "dw_striding"; otherwise "striding"
};

class StridingStream;

/// num_stages convolutions with kernel 3 and stride 2 on both axes. The first is a full
/// convolution. The others are full too, or depth-wise and followed by a 1 x 1 convolution. Each
/// stage ends in a ReLU. A linear layer over channels and frequencies follows. All stages use
/// [B, T, F, C], because depth-wise kernels and matrix products are fast in this layout.
/// Source: NeMo, ConvSubsampling and MaskedConvSequential.
class StridingSubsampling : public Subsampling {
 public:
  explicit StridingSubsampling(const StridingShape& shape);
  ~StridingSubsampling() override;

  int64_t output_frames(int64_t num_frames) const override;
  at::Tensor output_frames(const at::Tensor& lengths_B) const override;
  const at::Tensor& weight() const override { return out_->weight; }
  double forward_flops(int64_t num_frames) const override;
  std::unique_ptr<SubsamplingStream> open_stream(int64_t batch_size) override;

 protected:
  at::Tensor forward(const at::Tensor& x_BTF, const at::Tensor& lengths_B) override;

 private:
  friend class StridingStream;
  struct Stage {
    std::unique_ptr<ConvWeights> strided, pointwise;  // pointwise: null in a full stage
  };
  struct Padding {
    int64_t left, right;
  };
  Padding padding() const { return shape_.causal ? Padding{2, 1} : Padding{1, 1}; }
  int64_t thinned(int64_t frames) const;
  at::Tensor thinned(const at::Tensor& lengths_B) const;
  /// Runs one stage without its ReLU. `time`: the padding of the time axis.
  at::Tensor convolve(size_t stage, const at::Tensor& x_BTFC, Padding time);
  at::Tensor first_stage(const at::Tensor& x_BTF, Padding time);
  at::Tensor mix_channels(size_t stage, const at::Tensor& x_BTFC);
  bool is_fused(const at::Tensor& x_BTF, const at::Tensor& lengths_B) const;
  at::Tensor fused_stages(const at::Tensor& x_BTF, const at::Tensor& lengths_B);
  at::Tensor project(const at::Tensor& x_BTFC);

  StridingShape shape_;
  std::vector<Stage> stages_;
  std::unique_ptr<Linear> out_;
};

/// Causal only.
class StridingStream final : public SubsamplingStream {
 public:
  StridingStream(StridingSubsampling& subsampling, int64_t batch_size);
  at::Tensor push(const at::Tensor& x_BTF) override;
  at::Tensor finish() override;

 private:
  at::Tensor run(const at::Tensor& x_BTF, bool last);

  StridingSubsampling& subsampling_;
  std::vector<at::Tensor> pending_;  // per stage [B, t, F, C], including padding
};

}  // namespace s2s
