#pragma once
// Subsampling that stacks frames, and VGGNet's.
// Shape letters: B batch, T frames, F frequencies, C channels, H features out.

#include <memory>
#include <vector>

#include "nn/speech/conformer_subsampling.h"
#include "s2s/nn/conformer.h"

namespace s2s {

/// The subsampling that the options name.
std::unique_ptr<Subsampling> make_subsampling(const ConformerOptions& options);

struct StackingShape {
  int64_t feat_in = 80;
  int64_t d_model = 512;
  int64_t factor = 4;
  bool normalized = false;  // "stacking_norm": a LayerNorm of each frame
};

/// Puts `factor` frames side by side, followed by a linear layer. Frames after the last whole
/// stack are dropped, so that the length of a row does not depend on the width of its batch. A row
/// of fewer frames than one stack is filled with zeros.
/// Source: NeMo, StackingSubsampling, which may count one more stack of a row that is shorter than
/// its batch.
class StackingSubsampling final : public Subsampling {
 public:
  explicit StackingSubsampling(const StackingShape& shape);
  ~StackingSubsampling() override;
  int64_t output_frames(int64_t num_frames) const override;
  at::Tensor output_frames(const at::Tensor& lengths_B) const override;
  const at::Tensor& weight() const override { return out_.weight; }
  double forward_flops(int64_t num_frames) const override;
  std::unique_ptr<SubsamplingStream> open_stream(int64_t batch_size) override;

 protected:
  at::Tensor forward(const at::Tensor& x_BTF, const at::Tensor& lengths_B) override;

 private:
  friend class StackingStream;
  at::Tensor stacked(const at::Tensor& x_BTF);

  StackingShape shape_;
  std::unique_ptr<LayerNorm> norm_;  // null without a norm
  Linear out_;
};

/// num_stages times two 3 x 3 convolutions, each with a ReLU, and a maximum over 2 x 2 places. Odd
/// lengths are rounded up. A linear layer over channels and frequencies follows.
/// Source: NeMo, ConvSubsampling.
class VggSubsampling final : public Subsampling {
 public:
  explicit VggSubsampling(const StridingShape& shape);
  ~VggSubsampling() override;
  int64_t output_frames(int64_t num_frames) const override;
  at::Tensor output_frames(const at::Tensor& lengths_B) const override;
  const at::Tensor& weight() const override { return out_->weight; }
  double forward_flops(int64_t num_frames) const override;
  std::unique_ptr<SubsamplingStream> open_stream(int64_t) override { return nullptr; }

 protected:
  at::Tensor forward(const at::Tensor& x_BTF, const at::Tensor& lengths_B) override;

 private:
  StridingShape shape_;
  std::vector<std::unique_ptr<ConvWeights>> convolutions_;  // two per stage
  std::unique_ptr<Linear> out_;
};

}  // namespace s2s
