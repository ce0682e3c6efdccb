#pragma once
// Discriminators: networks that tell decoded audio from recordings, by samples at a distance of a
// period (HiFi-GAN), and by bands of complex spectra (EnCodec, DAC). Source: NeMo's
// MultiPeriodDiscriminator and MultiResolutionDiscriminatorSTFT, whose names they have. Shape
// letters: B rows, S samples, P period, C channels, T frames, N bins.

#include <memory>
#include <vector>

#include "codec_options.h"
#include "s2s/nn/audio.h"

namespace s2s::codec {

/// What all discriminators say of audio.
struct Judgement {
  std::vector<at::Tensor> scores;                 // [B, ...] of each
  std::vector<std::vector<at::Tensor>> features;  // of the layers of each; the last is the score
};

/// A convolution over two dims with weight norm, which mirrors its input at its edges.
class MirrorConv2d : public Block {
 public:
  struct Spec {
    int64_t inputs, outputs;
    std::vector<int64_t> kernel, stride = {1, 1};
  };
  explicit MirrorConv2d(const Spec& spec);
  ~MirrorConv2d() override;
  /// frozen: its weights get no gradient.
  at::Tensor operator()(const at::Tensor& x, bool frozen) const;

 private:
  Spec spec_;
  StoredWeight weight_;
};

/// Convolutions with leaky ReLUs, and one that gives the score.
class ConvJudge : public Block {
 public:
  explicit ConvJudge(const std::vector<MirrorConv2d::Spec>& specs);
  ~ConvJudge() override;
  void judge(const at::Tensor& x, bool frozen, Judgement& out) const;

 private:
  std::vector<std::unique_ptr<MirrorConv2d>> layers_;  // the last one: the score
};

class Discriminators : public Block {
 public:
  explicit Discriminators(const DiscriminatorOptions& options);
  ~Discriminators() override;
  /// Audio [B, S]. frozen: the weights get no gradient, only the audio.
  Judgement operator()(const at::Tensor& audio_BS, bool frozen) const;

 protected:
  void reset_buffers() override;

 private:
  void judge_period(int64_t period, const ConvJudge& judge, const at::Tensor& audio_BS, bool frozen,
                    Judgement& out) const;
  DiscriminatorOptions options_;
  std::vector<std::unique_ptr<ConvJudge>> of_periods_, of_bands_;
  std::vector<at::Tensor> windows_;
};

/// Losses of each row [B], means over all discriminators.
/// What the codec is to make small: the distance of the scores of decoded audio to 1.
at::Tensor codec_loss(const Judgement& decoded, const DiscriminatorOptions& options);
/// The same of the features' differences.
at::Tensor feature_loss(const Judgement& real, const Judgement& decoded,
                        const DiscriminatorOptions& options);
/// What the discriminators are to make small.
at::Tensor discriminator_loss(const Judgement& real, const Judgement& decoded,
                              const DiscriminatorOptions& options);

}  // namespace s2s::codec
