#pragma once
// Encoder and decoder of the codec, causal or symmetric. Source: NeMo's HiFiGANEncoder,
// HiFiGANDecoder and their causal sisters (collections/tts/modules/audio_codec_modules.py).
// Shape letters: B batch, C channels, T positions of a layer, D elements of a latent.

#include <memory>
#include <string>
#include <vector>

#include "nemo_audio_codec_options.h"
#include "s2s/nn/audio.h"

namespace s2s::nemo_audio_codec {

/// One call of all layers. The causal ones compute pieces of a stream. The symmetric ones get the
/// whole, and see zeros beyond each row's length.
struct Pass {
  StreamState& state;
  at::Tensor lengths_B = {};  // positions of each row; undefined: no row is padded
  Pass divided_by(int64_t rate) const;
  Pass times(int64_t rate) const;
};

/// NeMo's CodecActivation.
class CodecActivation : public Block {
 public:
  CodecActivation(std::string name, int64_t channels);
  ~CodecActivation() override;
  at::Tensor operator()(const at::Tensor& x_BCT) const;

 private:
  std::string name_;
  int64_t snake_channels_ = 0;
  std::unique_ptr<Snake> snake_;  // of snake and half_snake
};

/// x plus two convolutions of it.
class ResidualBlock : public Block {
 public:
  ResidualBlock(const HifiGanOptions& options, int64_t channels, int64_t kernel, int64_t dilation);
  ~ResidualBlock() override;
  at::Tensor operator()(const at::Tensor& x_BCT, const Pass& pass) const;

 private:
  CodecActivation input_activation_, skip_activation_;
  StreamConv1d input_conv_, skip_conv_;
};

/// The mean of chains of residual blocks, a chain for each kernel.
class ResidualLayer : public Block {
 public:
  ResidualLayer(const HifiGanOptions& options, int64_t channels);
  ~ResidualLayer() override;
  at::Tensor operator()(const at::Tensor& x_BCT, const Pass& pass) const;

 private:
  std::vector<std::vector<std::unique_ptr<ResidualBlock>>> chains_;
};

/// Audio to latents.
class HifiGanEncoder : public Block {
 public:
  explicit HifiGanEncoder(const EncoderOptions& options);
  ~HifiGanEncoder() override;
  /// [B, 1, S] -> [B, D, T]. S: whole frames.
  at::Tensor operator()(const at::Tensor& audio_B1S, const Pass& pass) const;

 private:
  struct Stage {
    std::unique_ptr<ResidualLayer> residual;
    std::unique_ptr<CodecActivation> activation;
    std::unique_ptr<StreamConv1d> down;
    int64_t rate;
  };
  StreamConv1d pre_conv_;
  std::vector<Stage> stages_;
  std::unique_ptr<CodecActivation> post_activation_;
  std::unique_ptr<StreamConv1d> post_conv_;
};

/// Latents to audio.
class HifiGanDecoder : public Block {
 public:
  explicit HifiGanDecoder(const DecoderOptions& options);
  ~HifiGanDecoder() override;
  /// [B, D, T] -> [B, 1, S].
  at::Tensor operator()(const at::Tensor& latents_BDT, const Pass& pass) const;

 private:
  struct Stage {
    std::unique_ptr<CodecActivation> activation;
    std::unique_ptr<StreamConvTranspose1d> up;
    std::unique_ptr<ResidualLayer> residual;
    int64_t rate;
  };
  bool is_clamped_;
  StreamConv1d pre_conv_;
  std::vector<Stage> stages_;
  std::unique_ptr<CodecActivation> post_activation_;
  std::unique_ptr<StreamConv1d> post_conv_;
};

/// Frames that a half needs at least: a reflection is shorter than what it reflects. `rates` of the
/// options are from audio to latents; of a decoder, reversed.
int64_t least_frames(const HifiGanOptions& options, const std::vector<int64_t>& rates,
                     int64_t audio_kernel, int64_t latent_kernel);

}  // namespace s2s::nemo_audio_codec
