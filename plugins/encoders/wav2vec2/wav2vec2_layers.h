#pragma once
// Layers of wav2vec 2.0, HuBERT and WavLM. Shape letters: B batch, S samples, C channels, T frames,
// H width, N heads.

#include <memory>
#include <vector>

#include "s2s/nn/audio.h"
#include "s2s/nn/layers.h"
#include "wav2vec2_options.h"

namespace s2s::wav2vec2 {

/// The convolutions that make frames of audio. Pieces of long recordings go through them one after
/// another. [B, S] -> [B, T, C].
class FeatureEncoder : public BlockOf<> {
 public:
  explicit FeatureEncoder(const Wav2Vec2Options& options);
  ~FeatureEncoder() override;

 protected:
  at::Tensor forward(const at::Tensor& audio_BS) override;

 private:
  struct Layer;
  at::Tensor frames_of(const at::Tensor& audio_BS);

  Activation activation_;
  bool is_group_norm_;
  int64_t piece_samples_;  // 0: all rows at once
  std::vector<std::unique_ptr<Layer>> layers_;
};

/// A convolution of many taps whose output gives the frames their positions. Its weight is stored
/// as a direction and, for each tap, a length. [B, T, H] -> [B, T, H].
class PositionalConv : public BlockOf<> {
 public:
  explicit PositionalConv(const Wav2Vec2Options& options);
  ~PositionalConv() override;

 protected:
  at::Tensor forward(const at::Tensor& x_BTH) override;

 private:
  int64_t kernel_, groups_;
  Activation activation_;
  at::Tensor length_, direction_, bias_;
};

/// Buckets of WavLM's relative positions: [T, T] int64, of each frame (row) to each other (column).
at::Tensor position_buckets(int64_t num_frames, int64_t num_buckets, int64_t max_distance,
                            at::Device device);

/// An encoder layer of WavLM: the scores of its attention get a bias by relative position, times a
/// gate that depends on the frame. Without gradients, pieces of long recordings go through it one
/// after another, because the scores of each would be kept.
class GatedLayer : public BlockOf<const at::Tensor&, const at::Tensor&> {
 public:
  /// piece_frames: of a long recording's pieces; 0: all rows at once.
  explicit GatedLayer(const EncoderLayerSpec& spec, int64_t piece_frames = 0);
  ~GatedLayer() override;

 protected:
  /// x [B, T, H], bias [N, T, T], seen [B, 1, 1, T] bool or undefined.
  at::Tensor forward(const at::Tensor& x_BTH, const at::Tensor& bias_NTT,
                     const at::Tensor& seen_B11T) override;

 private:
  class Attention;
  at::Tensor layer(const at::Tensor& x_BTH, const at::Tensor& bias_NTT,
                   const at::Tensor& seen_B11T);
  at::Tensor feed_forward(const at::Tensor& x_BTH);

  EncoderLayerSpec spec_;
  int64_t piece_frames_;
  std::unique_ptr<Attention> attention_;
  LayerNorm attention_norm_;
  Linear inner_, outer_;
  LayerNorm final_norm_;
};

}  // namespace s2s::wav2vec2
