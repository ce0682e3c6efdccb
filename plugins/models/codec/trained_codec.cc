#include "trained_codec.h"

#include <ATen/ATen.h>

namespace s2s::codec {

TrainedCodec::TrainedCodec(const CodecOptions& options)
    : FrameCodec(LastFrame::kLayers),
      options_(options),
      encoder_("layers."),
      decoder_("layers."),
      quantizer_(make_quantizer(options)) {
  add_seanet_encoder(encoder_, options.seanet());
  add_seanet_decoder(decoder_, options.seanet());
  register_block("encoder", encoder_);
  register_block("quantizer", *quantizer_);
  register_block("decoder", decoder_);
}

TrainedCodec::~TrainedCodec() = default;

CodecShape TrainedCodec::shape() const {
  return {options_.rate_hz(), options_.hop(), options_.num_codebooks, options_.entries()};
}

void TrainedCodec::use_weights() {
  if (hooks() != nullptr) hooks()->use(*this);
}

std::pair<at::Tensor, at::Tensor> TrainedCodec::encode(const at::Tensor& audio_BS,
                                                       const at::Tensor& lengths_B) {
  use_weights();
  return FrameCodec::encode(audio_BS, lengths_B);
}

at::Tensor TrainedCodec::decode(const at::Tensor& codes_BKT) {
  use_weights();
  return FrameCodec::decode(codes_BKT);
}

at::Tensor TrainedCodec::latents(const at::Tensor& audio_BS) {
  use_weights();
  return encoder_(audio_BS.unsqueeze(1));
}

at::Tensor TrainedCodec::audio_of(const at::Tensor& latents_BDT) {
  return decoder_(latents_BDT).squeeze(1);
}

at::Tensor TrainedCodec::encode_piece(const at::Tensor& audio_BS, StreamState& state,
                                      bool is_last) const {
  return quantizer_->encode(encoder_.push(audio_BS.unsqueeze(1), state, is_last));
}

at::Tensor TrainedCodec::decode_piece(const at::Tensor& codes_BKT, StreamState& state,
                                      bool is_last) const {
  return decoder_.push(quantizer_->decode(codes_BKT), state, is_last).squeeze(1);
}

NameMap TrainedCodec::checkpoint_names() const { return {{{"**", "**"}}, {}}; }

}  // namespace s2s::codec
