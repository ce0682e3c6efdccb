#pragma once
// Losses between recordings and decoded audio: L1 and L2 of log mel magnitudes, L1 of log
// magnitudes, at several resolutions, and L1 of samples. Source: NeMo's MultiResolutionMelLoss,
// MultiResolutionSTFTLoss and TimeDomainLoss. Shape letters: B rows, S samples, T frames, F bands,
// N bins.

#include <vector>

#include "codec_options.h"
#include "s2s/nn/block.h"

namespace s2s::codec {

/// Losses of each row, [B]. All rows have the same length.
struct SpectralLosses {
  at::Tensor mel_l1_B, mel_l2_B, stft_B, time_B;
};

class SpectralLoss : public Block {
 public:
  explicit SpectralLoss(const CodecOptions& options);
  ~SpectralLoss() override;
  /// Audio [B, S] float32, at least half a window long.
  SpectralLosses operator()(const at::Tensor& real_BS, const at::Tensor& decoded_BS) const;
  /// Of each row: mean absolute difference of log10 mel magnitudes, mean of all resolutions.
  /// Source: DAC's MelSpectrogramLoss, with the floor of magnitudes that the losses have.
  at::Tensor mel_distance(const at::Tensor& real_BS, const at::Tensor& decoded_BS) const;

 protected:
  void reset_buffers() override;

 private:
  CodecOptions options_;
  std::vector<at::Tensor> windows_, banks_FN_;  // of each resolution
};

/// The STFT [B, N, T] of audio [B, S] with a window and a hop of a quarter, complex. The audio is
/// mirrored at its ends, or padded with zeros.
at::Tensor spectrum(const at::Tensor& audio_BS, const at::Tensor& window, bool mirrors,
                    bool normalized = false);

}  // namespace s2s::codec
