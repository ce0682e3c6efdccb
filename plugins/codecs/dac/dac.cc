#include "dac.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "s2s/nn/weights.h"

namespace s2s::dac {
namespace {

std::unique_ptr<AudioLayer> centered_conv(int64_t inputs, int64_t outputs, int64_t kernel,
                                          int64_t dilation = 1) {
  const int64_t side = (kernel - 1) * dilation / 2;
  return std::make_unique<StreamConv1d>(ConvSpec{.inputs = inputs,
                                                 .outputs = outputs,
                                                 .kernel = kernel,
                                                 .dilation = dilation,
                                                 .left = side,
                                                 .right = side,
                                                 .name = ""});
}

std::unique_ptr<AudioLayer> snake(int64_t channels) { return std::make_unique<Snake>(channels); }

void add_residual_units(AudioStack& stack, const std::string& place, int64_t channels) {
  int64_t dilation = 1;
  for (int64_t i = 1; i <= 3; ++i, dilation *= 3) {
    auto unit = std::make_unique<ResidualUnit>("");
    unit->add(snake(channels), "snake1")
        .add(centered_conv(channels, channels, 7, dilation), "conv1")
        .add(snake(channels), "snake2")
        .add(centered_conv(channels, channels, 1), "conv2");
    stack.add(std::move(unit), place + "res_unit" + std::to_string(i));
  }
}

/// Padding of a strided convolution, on both sides.
int64_t side_of(int64_t stride) { return (stride + 1) / 2; }

void build_encoder(AudioStack& stack, const DacOptions& options) {
  int64_t channels = options.encoder_hidden_size;
  stack.add(centered_conv(1, channels, 7), "conv1");
  for (size_t i = 0; i < options.downsampling_ratios.size(); ++i, channels *= 2) {
    const int64_t stride = options.downsampling_ratios[i];
    const std::string place = "block." + std::to_string(i) + ".";
    add_residual_units(stack, place, channels);
    stack.add(snake(channels), place + "snake1");
    stack.add(std::make_unique<StreamConv1d>(ConvSpec{.inputs = channels,
                                                      .outputs = 2 * channels,
                                                      .kernel = 2 * stride,
                                                      .stride = stride,
                                                      .left = side_of(stride),
                                                      .right = side_of(stride),
                                                      .name = ""}),
              place + "conv1");
  }
  stack.add(snake(channels), "snake1");
  stack.add(centered_conv(channels, options.hidden_size(), 3), "conv2");
}

void build_decoder(AudioStack& stack, const DacOptions& options) {
  int64_t channels = options.decoder_hidden_size;
  stack.add(centered_conv(options.hidden_size(), channels, 7), "conv1");
  const std::vector<int64_t> ratios = options.decoder_ratios();
  for (size_t i = 0; i < ratios.size(); ++i) {
    const int64_t stride = ratios[i];
    const std::string place = "block." + std::to_string(i) + ".";
    stack.add(snake(channels), place + "snake1");
    stack.add(std::make_unique<StreamConvTranspose1d>(ConvTransposeSpec{.inputs = channels,
                                                                        .outputs = channels / 2,
                                                                        .kernel = 2 * stride,
                                                                        .stride = stride,
                                                                        .left = side_of(stride),
                                                                        .right = side_of(stride),
                                                                        .name = ""}),
              place + "conv_t1");
    channels /= 2;
    add_residual_units(stack, place, channels);
  }
  stack.add(snake(channels), "snake1");
  stack.add(centered_conv(channels, 1, 7), "conv2");
}

}  // namespace

Dac::Dac(const DacOptions& options, std::string weights_path)
    : FrameCodec(LastFrame::kZeros),
      options_(options),
      weights_path_(std::move(weights_path)),
      encoder_(""),
      decoder_(""),
      quantizer_(options) {
  build_encoder(encoder_, options);
  build_decoder(decoder_, options);
  register_block("encoder", encoder_);
  register_block("quantizer", quantizer_);
  register_block("decoder", decoder_);
}

Dac::~Dac() = default;

CodecShape Dac::shape() const {
  return {options_.sampling_rate, options_.hop(), options_.books(), options_.codebook_size};
}

at::Tensor Dac::encode_piece(const at::Tensor& audio_BS, StreamState& state, bool is_last) const {
  const at::Tensor latents_BHT = encoder_.push(audio_BS.unsqueeze(1), state, is_last);
  return quantizer_.encode(latents_BHT, options_.books()).codes_BKT;
}

at::Tensor Dac::decode_piece(const at::Tensor& codes_BKT, StreamState& state, bool is_last) const {
  return decoder_.push(quantizer_.decode(codes_BKT), state, is_last).tanh().squeeze(1);
}

NameMap Dac::checkpoint_names() const { return {.rules = {{"**", "**"}}, .ignored = {}}; }

std::unique_ptr<WeightSource> Dac::initial_values() {
  if (weights_path_.empty()) return nullptr;
  return weight_source(*this, checkpoint_names(), WeightFiles::open(weights_path_));
}

std::map<std::string, at::Tensor> Dac::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> out = peer_outputs(inputs);
  const at::Tensor& audio = inputs.at("audio");
  const at::Tensor audio_BS = audio.dim() == 3 ? audio.squeeze(1) : audio;
  const at::Tensor ends_B = at::full({audio_BS.size(0)}, audio_BS.size(1), at::kLong);
  out["latents"] = encode_in_pieces(
      audio_BS, ends_B, [this](const at::Tensor& piece_BS, StreamState& state, bool is_last) {
        return encoder_.push(piece_BS.unsqueeze(1), state, is_last);
      });
  out["quantized"] = quantizer_.encode(out.at("latents"), options_.books()).sum_BHT;
  return out;
}

}  // namespace s2s::dac
