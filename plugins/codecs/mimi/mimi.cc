#include "mimi.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "kyutai.h"
#include "mimi_errors.h"
#include "s2s/nn/weights.h"

namespace s2s::mimi {

Mimi::Mimi(const MimiOptions& options, std::string weights_path)
    : FrameCodec(LastFrame::kLayers),
      options_(options),
      weights_path_(std::move(weights_path)),
      encoder_("layers."),
      encoder_transformer_(options),
      quantizer_(options),
      decoder_transformer_(options),
      decoder_("layers.") {
  add_seanet_encoder(encoder_, options.seanet());
  add_seanet_decoder(decoder_, options.seanet());
  register_block("encoder", encoder_);
  register_block("encoder_transformer", encoder_transformer_);
  const int64_t stride = options.latent_stride(), width = options.hidden_size;
  if (stride > 1) {
    downsample_ = std::make_unique<StreamConv1d>(ConvSpec{.inputs = width,
                                                          .outputs = width,
                                                          .kernel = 2 * stride,
                                                          .stride = stride,
                                                          .has_bias = false,
                                                          .padding = EdgePadding::kReplicate});
    register_block("downsample", *downsample_);
    upsample_ =
        std::make_unique<StreamConvTranspose1d>(ConvTransposeSpec{.inputs = width,
                                                                  .outputs = width,
                                                                  .kernel = 2 * stride,
                                                                  .stride = stride,
                                                                  .groups = options.upsample_groups,
                                                                  .has_bias = false});
    register_block("upsample", *upsample_);
  }
  register_block("quantizer", quantizer_);
  register_block("decoder_transformer", decoder_transformer_);
  register_block("decoder", decoder_);
}

Mimi::~Mimi() = default;

CodecShape Mimi::shape() const {
  return {options_.sampling_rate, options_.frame_samples(), options_.books(),
          options_.codebook_size};
}

at::Tensor Mimi::latents(const at::Tensor& audio_BS, StreamState& state, bool is_last) const {
  const at::Tensor hidden_BHT =
      encoder_transformer_.push(encoder_.push(audio_BS.unsqueeze(1), state, is_last), state);
  return downsample_ ? downsample_->push(hidden_BHT, state, is_last) : hidden_BHT;
}

at::Tensor Mimi::features(const at::Tensor& audio_BS, StreamState& state, bool is_last,
                          bool is_quantized) const {
  const at::Tensor latents_BHT = latents(audio_BS, state, is_last);
  if (!is_quantized) return latents_BHT;
  return quantizer_.decode(quantizer_.encode(latents_BHT, options_.books()));
}

at::Tensor Mimi::features(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                          bool is_quantized) const {
  return encode_in_pieces(audio_BS, lengths_B,
                          [&](const at::Tensor& piece_BS, StreamState& state, bool is_last) {
                            return features(piece_BS, state, is_last, is_quantized);
                          });
}

std::unique_ptr<CodecEncoderStream> Mimi::open_feature_stream(int64_t batch_size,
                                                              bool is_quantized) {
  const auto of_piece = [this, is_quantized](const at::Tensor& piece_BS, StreamState& state,
                                             bool is_last) {
    return features(piece_BS, state, is_last, is_quantized);
  };
  return open_piece_stream(of_piece, at::zeros({batch_size, options_.hidden_size, 0}, device()));
}

at::Tensor Mimi::encode_piece(const at::Tensor& audio_BS, StreamState& state, bool is_last) const {
  return quantizer_.encode(latents(audio_BS, state, is_last), options_.books());
}

at::Tensor Mimi::decode_piece(const at::Tensor& codes_BKT, StreamState& state, bool is_last) const {
  at::Tensor x_BHT = quantizer_.decode(codes_BKT);
  if (upsample_) x_BHT = upsample_->push(x_BHT, state, is_last);
  return decoder_.push(decoder_transformer_.push(x_BHT, state), state, is_last).squeeze(1);
}

NameMap Mimi::checkpoint_names() const {
  return {.rules = {{"**", "**"}},
          .ignored = {"decoder.model.**", "decoder.lm_head.**", "depth_decoder.**",
                      "embed_tokens.**", "backbone_model.**", "lm_head.**", "embed_text_tokens.**"},
          .other_spellings = {{"**", "audio_encoder.**"}, {"**", "codec_model.**"}}};
}

std::unique_ptr<WeightSource> Mimi::initial_values() {
  if (weights_path_.empty()) return nullptr;
  WeightFiles files = WeightFiles::open(weights_path_);
  if (is_kyutai(files)) return kyutai_source(*this, options_, std::move(files));
  return weight_source(*this, checkpoint_names(), std::move(files));
}

std::map<std::string, at::Tensor> Mimi::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> out = peer_outputs(inputs);
  const at::Tensor& audio = inputs.at("audio");
  const at::Tensor audio_BS = audio.dim() == 3 ? audio.squeeze(1) : audio;
  const at::Tensor ends_B = at::full({audio_BS.size(0)}, audio_BS.size(1), at::kLong);
  out["latents"] = features(audio_BS, ends_B, /*is_quantized=*/false);
  out["quantized"] = quantizer_.decode(inputs.at("codes"));
  return out;
}

}  // namespace s2s::mimi
