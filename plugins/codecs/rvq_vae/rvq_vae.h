#pragma once
// The codec of NeMo's EAR-TTS: a convolutional autoencoder of short spectra, with residual vector
// quantization of its latents. Shape letters: B batch, S samples, K codebooks, T frames, D elements
// of a latent, V entries of a codebook.

#include <string>
#include <vector>

#include "s2s/kinds/codec.h"
#include "s2s/kinds/model_capabilities.h"
#include "wave_layers.h"

namespace s2s::rvq_vae {

/// Residual quantizer. Each book is the nearest entry to what the books before it left.
/// Source: NeMo's PreTrainedProbabilisticVQ.
class ResidualQuantizer : public Block {
 public:
  explicit ResidualQuantizer(const RvqVaeOptions& options);
  ~ResidualQuantizer() override;
  /// latents [B, T, D] -> codes [B, T, K] int64.
  at::Tensor encode(const at::Tensor& latents_BTD) const;
  /// codes [B, T, K] -> the sum of their entries [B, T, D].
  at::Tensor decode(const at::Tensor& codes_BTK) const;

 protected:
  void reset_buffers() override;

 private:
  int64_t channels_, codebook_size_;
  std::vector<at::Tensor> books_VD_;
  std::vector<at::Tensor> variances_;  // part of the checkpoints; not used
};

class RvqVae : public Codec, public RunsReferences {
 public:
  RvqVae(const RvqVaeOptions& options, std::string weights_path);
  ~RvqVae() override;

  CodecShape shape() const override;
  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override;
  /// With the range limit, as NeMo's default. Errors: [codec/code-range] on a CPU.
  at::Tensor decode(const at::Tensor& codes_BKT) override;
  std::unique_ptr<CodecStream> open_stream(int64_t batch_size) override;
  /// The commonest frame of ten seconds of zeros. Source: DuplexEARTTS.get_codec_silence_frame.
  at::Tensor silence_codes() override;
  /// NeMo's names; also those of a DuplexEARTTS checkpoint, which contains the codec.
  NameMap checkpoint_names() const override;
  /// Inputs: audio [B, S], lengths, and codes [B, K, T] to decode. Outputs: latents, quantized,
  /// lengths as NeMo's encode counts them (whole frames only), audio without the range limit,
  /// audio_constrained, audio_lengths.
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  RvqVaeOptions options_;
  std::string weights_path_;
  WaveEncoder encoder_;
  ResidualQuantizer quantizer_;
  WaveDecoder decoder_;
};

}  // namespace s2s::rvq_vae
