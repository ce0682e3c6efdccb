#pragma once
// The codec that is trained: transformers' EncodecModel of 24 kHz, whose weights are parameters
// here. The codec plugin `encodec` reads what is exported. Shape letters: B rows, S samples, D
// width of latents, K codebooks, T frames.

#include "codec_options.h"
#include "quantizer.h"
#include "s2s/nn/frame_codec.h"

namespace s2s::codec {

class TrainedCodec : public FrameCodec {
 public:
  explicit TrainedCodec(const CodecOptions& options);
  ~TrainedCodec() override;
  CodecShape shape() const override;
  /// transformers' names.
  NameMap checkpoint_names() const override;

  /// Audio [B, S] of whole frames -> latents [B, D, T], with gradients.
  at::Tensor latents(const at::Tensor& audio_BS) const;
  /// Latents [B, D, T] -> audio [B, S], with gradients.
  at::Tensor audio_of(const at::Tensor& latents_BDT) const;
  Quantizer& quantizer() { return quantizer_; }

 protected:
  at::Tensor encode_piece(const at::Tensor& audio_BS, StreamState& state,
                          bool is_last) const override;
  at::Tensor decode_piece(const at::Tensor& codes_BKT, StreamState& state,
                          bool is_last) const override;

 private:
  CodecOptions options_;
  AudioStack encoder_, decoder_;
  Quantizer quantizer_;
};

}  // namespace s2s::codec
