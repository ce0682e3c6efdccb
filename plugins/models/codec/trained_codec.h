#pragma once
// The codec that is trained: transformers' EncodecModel of 24 kHz, whose weights are parameters
// here. The codec plugin `encodec` reads what is exported. Shape letters: B rows, S samples, D
// width of latents, K codebooks, T frames.

#include <memory>
#include <utility>

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

  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& audio_BS,
                                           const at::Tensor& lengths_B) override;
  at::Tensor decode(const at::Tensor& codes_BKT) override;
  /// Audio [B, S] of whole frames -> latents [B, D, T], with gradients.
  at::Tensor latents(const at::Tensor& audio_BS);
  /// Latents [B, D, T] -> audio [B, S], with gradients.
  at::Tensor audio_of(const at::Tensor& latents_BDT);
  Quantizer& quantizer() { return *quantizer_; }

 protected:
  at::Tensor encode_piece(const at::Tensor& audio_BS, StreamState& state,
                          bool is_last) const override;
  at::Tensor decode_piece(const at::Tensor& codes_BKT, StreamState& state,
                          bool is_last) const override;

 private:
  /// Waits until a sharded model's weights are whole: its layers are not called through hooks.
  void use_weights();
  CodecOptions options_;
  AudioStack encoder_, decoder_;
  std::unique_ptr<Quantizer> quantizer_;
};

}  // namespace s2s::codec
