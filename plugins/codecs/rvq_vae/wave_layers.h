#pragma once
// Encoder and decoder of the codec: waveform to latent frames and back.
// Shape letters: B batch, S samples, T frames, D elements of a latent, C channels, N bins.

#include <memory>
#include <vector>

#include "conv_layers.h"
#include "rvq_vae_options.h"

namespace s2s::rvq_vae {

/// Waveform to latents. Source: NeMo's Wav2Latent.
class WaveEncoder : public Block {
 public:
  explicit WaveEncoder(const RvqVaeOptions& options);
  ~WaveEncoder() override;
  /// audio [B, S] float32, S a multiple of the frame -> latents [B, T, D].
  at::Tensor operator()(const at::Tensor& audio_BS) const;

 protected:
  void reset_buffers() override;

 private:
  RvqVaeOptions options_;
  AudioStack layers_;
  at::Tensor window_;
};

/// Adds overlapping windowed pieces and divides by the sum of the squared windows. The samples of
/// all calls together are those of one call with all pieces.
class OverlapAdd {
 public:
  OverlapAdd(at::Tensor window, int64_t hop);
  /// pieces [B, T, n_fft], not yet windowed -> samples [B, S] that are complete.
  at::Tensor push(const at::Tensor& pieces_BTN);
  /// The remaining samples [B, S]. Undefined before the first push.
  at::Tensor finish();
  /// What it remembers, under names that begin with "overlap.".
  TensorMap state() const;
  /// Continues where `state` was taken; it has at least "overlap.padding".
  void restore(const TensorMap& state);

 private:
  /// What the first (n_fft - hop) / 2 samples, which belong to the padding, leave of `samples`.
  at::Tensor without_padding(const at::Tensor& samples_BS);

  at::Tensor window_;
  int64_t hop_, padding_, padding_left_;
  at::Tensor tail_BS_, tail_weight_S_;  // n_fft - hop samples that later pieces add to
};

/// What a decoder keeps between frames.
struct DecoderState {
  StreamState layers;
  std::unique_ptr<OverlapAdd> samples;
};

/// Latents to waveform. Source: NeMo's Latent2Wav.
class WaveDecoder : public Block {
 public:
  explicit WaveDecoder(const RvqVaeOptions& options);
  ~WaveDecoder() override;
  DecoderState start() const;
  /// latents [B, T, D] -> the complete samples [B, S]. `limit`: each window's samples are limited
  /// to the window (NeMo's constrain_value_range).
  at::Tensor push(const at::Tensor& latents_BTD, bool limit, DecoderState& state) const;
  /// All frames at once: [B, T * frame].
  at::Tensor operator()(const at::Tensor& latents_BTD, bool limit) const;

 protected:
  void reset_buffers() override;

 private:
  /// Network outputs [B, n_fft + 2, T] -> pieces [B, T, n_fft].
  at::Tensor pieces(const at::Tensor& x_BCT) const;

  RvqVaeOptions options_;
  AudioStack layers_;
  at::Tensor window_;
};

}  // namespace s2s::rvq_vae
