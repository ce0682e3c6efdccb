#include "wave_layers.h"

#include <ATen/ATen.h>

#include <cmath>

#include "s2s/nn/mel.h"

namespace s2s::rvq_vae {
namespace {

constexpr double kLoudestMagnitude = 100;

/// The channels of a stage. NeMo reverses both lists for the decoder.
int64_t channels_of(const RvqVaeOptions& options, size_t stage) {
  return options.base_hidden_size * options.channel_mult[stage];
}

std::unique_ptr<AudioLayer> conv_of(ConvSpec spec) {
  spec.has_bias = false;
  spec.left = 0;  // pieces are whole frames
  spec.name = "";
  return std::make_unique<StreamConv1d>(spec);
}

void add_blocks(AudioStack& layers, const RvqVaeOptions& options, int64_t channels) {
  for (int64_t block = 0; block < options.num_blocks; ++block) {
    layers.add(std::make_unique<ConvNeXt>(channels, options.kernel_size));
  }
}

}  // namespace

WaveEncoder::WaveEncoder(const RvqVaeOptions& options) : options_(options), layers_("layers.") {
  layers_.add(conv_of({.inputs = options.n_fft + 2, .outputs = channels_of(options, 0)}));
  for (size_t stage = 0; stage < options.rates.size(); ++stage) {
    const int64_t channels = channels_of(options, stage), rate = options.rates[stage];
    add_blocks(layers_, options, channels);
    const bool is_last = stage + 1 == options.rates.size();
    layers_.add(conv_of({.inputs = channels,
                         .outputs = is_last ? options.latent_size : channels_of(options, stage + 1),
                         .kernel = rate,
                         .stride = rate,
                         .groups = options.groups}));
  }
  register_block("", layers_);
  register_buffer("window", window_, /*persistent=*/false);
  WaveEncoder::reset_buffers();
}

WaveEncoder::~WaveEncoder() = default;

void WaveEncoder::reset_buffers() {
  window_ = stft_window("hann", options_.n_fft, /*periodic=*/true);
}

at::Tensor WaveEncoder::operator()(const at::Tensor& audio_BS) const {
  const int64_t padding = (options_.n_fft - options_.hop_length) / 2;
  const at::Tensor padded_BS = at::constant_pad_nd(audio_BS.to(at::kFloat), {padding, padding});
  const at::Tensor columns_BTL = padded_BS.unfold(1, options_.n_fft, options_.hop_length);
  const at::Tensor spectrum_BTN = at::fft_rfft(columns_BTL * window_);
  const at::Tensor parts_BTC = at::cat({at::real(spectrum_BTN), at::imag(spectrum_BTN)}, 2);
  return layers_(parts_BTC.transpose(1, 2)).transpose(1, 2);
}

OverlapAdd::OverlapAdd(at::Tensor window, int64_t hop)
    : window_(std::move(window)),
      hop_(hop),
      padding_((window_.size(0) - hop) / 2),
      padding_left_(padding_) {}

at::Tensor OverlapAdd::without_padding(const at::Tensor& samples_BS) {
  const int64_t dropped = std::min(padding_left_, samples_BS.size(1));
  padding_left_ -= dropped;
  return samples_BS.slice(1, dropped);
}

at::Tensor OverlapAdd::push(const at::Tensor& pieces_BTN) {
  const int64_t batch = pieces_BTN.size(0), count = pieces_BTN.size(1), length = window_.size(0);
  if (count == 0) return pieces_BTN.new_zeros({batch, 0});
  const int64_t width = (count - 1) * hop_ + length;
  const auto folded = [&](const at::Tensor& columns) {
    return at::col2im(columns, {1, width}, {1, length}, {1, 1}, {0, 0}, {1, hop_})
        .reshape({-1, width});
  };
  at::Tensor sum_BS = folded((pieces_BTN * window_).transpose(1, 2));
  at::Tensor weight_S =
      folded(window_.square().unsqueeze(1).expand({length, count}).unsqueeze(0)).squeeze(0);
  const int64_t overlap = length - hop_;
  if (tail_BS_.defined()) {
    sum_BS.slice(1, 0, overlap).add_(tail_BS_);
    weight_S.slice(0, 0, overlap).add_(tail_weight_S_);
  }
  const int64_t complete = count * hop_;
  tail_BS_ = sum_BS.slice(1, complete).clone();
  tail_weight_S_ = weight_S.slice(0, complete).clone();
  // Only the first sample of all has no weight, and it is in the padding.
  return without_padding(sum_BS.slice(1, 0, complete) / weight_S.slice(0, 0, complete));
}

at::Tensor OverlapAdd::finish() {
  if (!tail_BS_.defined()) return {};
  const at::Tensor rest_BS = without_padding(tail_BS_ / tail_weight_S_);
  return rest_BS.slice(1, 0, rest_BS.size(1) - padding_);
}

TensorMap OverlapAdd::state() const {
  TensorMap state = {{"overlap.padding", at::scalar_tensor(padding_left_, at::kLong)}};
  if (!tail_BS_.defined()) return state;
  state["overlap.tail"] = tail_BS_.clone();
  state["overlap.weight"] = tail_weight_S_.clone();
  return state;
}

void OverlapAdd::restore(const TensorMap& state) {
  padding_left_ = state.at("overlap.padding").item<int64_t>();
  const auto copy_of = [&](const char* name) {
    const auto found = state.find(name);
    return found == state.end() ? at::Tensor() : found->second.to(window_.options()).clone();
  };
  tail_BS_ = copy_of("overlap.tail");
  tail_weight_S_ = copy_of("overlap.weight");
}

WaveDecoder::WaveDecoder(const RvqVaeOptions& options) : options_(options), layers_("layers.") {
  int64_t inputs = options.latent_size;
  for (size_t stage = options.rates.size(); stage-- > 0;) {
    const int64_t channels = channels_of(options, stage), rate = options.rates[stage];
    layers_.add(std::make_unique<StreamConvTranspose1d>(ConvTransposeSpec{.inputs = inputs,
                                                                          .outputs = channels,
                                                                          .kernel = rate,
                                                                          .stride = rate,
                                                                          .groups = options.groups,
                                                                          .has_bias = false,
                                                                          .name = ""}));
    add_blocks(layers_, options, channels);
    inputs = channels;
  }
  layers_.add(conv_of({.inputs = inputs, .outputs = options.n_fft + 2}));
  register_block("", layers_);
  register_buffer("window", window_, /*persistent=*/false);
  WaveDecoder::reset_buffers();
}

WaveDecoder::~WaveDecoder() = default;

void WaveDecoder::reset_buffers() {
  window_ = stft_window("hann", options_.n_fft, /*periodic=*/true);
}

DecoderState WaveDecoder::start() const {
  return {{}, std::make_unique<OverlapAdd>(window_, options_.hop_length)};
}

at::Tensor WaveDecoder::pieces(const at::Tensor& x_BCT) const {
  const std::vector<at::Tensor> halves = x_BCT.to(at::kFloat).chunk(2, 1);
  const at::Tensor size_BNT =
      (-at::softplus(std::log(kLoudestMagnitude) - halves[0])).exp() * kLoudestMagnitude;
  const at::Tensor real_BNT = size_BNT * halves[1].cos();
  at::Tensor imaginary_BNT = size_BNT * halves[1].sin();
  const int64_t last = imaginary_BNT.size(1) - 1;  // both ends of a real signal's spectrum are real
  imaginary_BNT = at::constant_pad_nd(imaginary_BNT.slice(1, 1, last), {0, 0, 1, 1});
  const at::Tensor spectrum_BTN = at::complex(real_BNT, imaginary_BNT).transpose(1, 2);
  return at::fft_irfft(spectrum_BTN, options_.n_fft);
}

at::Tensor WaveDecoder::push(const at::Tensor& latents_BTD, bool limit, DecoderState& state) const {
  at::Tensor pieces_BTN = pieces(layers_.push(latents_BTD.transpose(1, 2), state.layers, false));
  if (limit) pieces_BTN = at::clamp(pieces_BTN, -window_, window_);
  return state.samples->push(pieces_BTN);
}

at::Tensor WaveDecoder::operator()(const at::Tensor& latents_BTD, bool limit) const {
  if (latents_BTD.size(1) == 0) return latents_BTD.new_zeros({latents_BTD.size(0), 0});
  DecoderState state = start();
  const at::Tensor samples_BS = push(latents_BTD, limit, state);
  return at::cat({samples_BS, state.samples->finish()}, 1);
}

}  // namespace s2s::rvq_vae
