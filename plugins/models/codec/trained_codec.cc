#include "trained_codec.h"

#include <ATen/ATen.h>

namespace s2s::codec {

TrainedCodec::TrainedCodec(const CodecOptions& options)
    : FrameCodec(LastFrame::kLayers),
      options_(options),
      encoder_("layers."),
      decoder_("layers."),
      quantizer_(options) {
  add_seanet_encoder(encoder_, options.seanet());
  add_seanet_decoder(decoder_, options.seanet());
  register_block("encoder", encoder_);
  register_block("quantizer", quantizer_);
  register_block("decoder", decoder_);
}

TrainedCodec::~TrainedCodec() = default;

CodecShape TrainedCodec::shape() const {
  return {options_.rate_hz(), options_.hop(), options_.num_codebooks, options_.codebook_size};
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
  const at::Tensor latents_BDT = encoder_.push(audio_BS.unsqueeze(1), state, is_last);
  return residual_codes(latents_BDT.transpose(1, 2), quantizer_.entries(options_.num_codebooks),
                        EntryDistance::kProductFirst)
      .transpose(1, 2);
}

at::Tensor TrainedCodec::decode_piece(const at::Tensor& codes_BKT, StreamState& state,
                                      bool is_last) const {
  const std::vector<at::Tensor> entries = quantizer_.entries(codes_BKT.size(1));
  const at::Tensor sum_BTD =
      codes_BKT.size(2) == 0
          ? at::zeros({codes_BKT.size(0), 0, options_.hidden_size}, entries.front().options())
          : sum_of_entries(codes_BKT.transpose(1, 2), entries);
  return decoder_.push(sum_BTD.transpose(1, 2), state, is_last).squeeze(1);
}

NameMap TrainedCodec::checkpoint_names() const { return {{{"**", "**"}}, {}}; }

}  // namespace s2s::codec
