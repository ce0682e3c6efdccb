#include "nemo_audio_codec_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "nemo_audio_codec_errors.h"

namespace s2s::nemo_audio_codec {

void HifiGanOptions::visit_shared(OptionVisitor& v, const char* rates_name) {
  v("causal", causal,
    "true: NeMo's CausalHiFiGAN classes, which stream; false: the symmetric ones");
  v(rates_name, rates, "rate of each stage, from the first that audio or latents meet",
    at_least(2));
  v("base_channels", base_channels, "channels of the first convolution", at_least(1));
  v("in_kernel_size", in_kernel_size, "taps of the first convolution", at_least(1));
  v("out_kernel_size", out_kernel_size, "taps of the last convolution", at_least(1));
  v("resblock_kernel_sizes", resblock_kernel_sizes,
    "taps of the residual chains, whose outputs are averaged", at_least(1));
  v("resblock_dilation_sizes", resblock_dilation_sizes, "dilation of each block of a chain",
    at_least(1));
  v("activation", activation, "activation between convolutions",
    one_of({"elu", "lrelu", "snake", "half_snake"}));
  v("pad_mode", pad_mode, "padding of symmetric convolutions; causal ones see zeros",
    one_of({"reflect", "zeros", "replicate"}));
}

int64_t HifiGanOptions::rate() const {
  return std::accumulate(rates.begin(), rates.end(), int64_t{1}, std::multiplies<>());
}

void EncoderOptions::visit(OptionVisitor& v) {
  visit_shared(v, "down_sample_rates");
  v("encoded_dim", encoded_dim, "elements of a latent frame", at_least(1));
}

DecoderOptions::DecoderOptions() {
  rates = {7, 7, 6, 3, 2};
  base_channels = 512;
  out_kernel_size = 3;
}

void DecoderOptions::visit(OptionVisitor& v) {
  visit_shared(v, "up_sample_rates");
  v("input_dim", input_dim, "elements of a latent frame", at_least(1));
  v("output_activation", output_activation, "what limits samples to [-1, 1]",
    one_of({"tanh", "clamp"}));
  v("n_groups_equal_to_out_channels", n_groups_equal_to_out_channels,
    "up-sampling convolutions have a group for each output channel");
}

void QuantizerOptions::visit(OptionVisitor& v) {
  v("num_groups", num_groups, "codebooks", at_least(1));
  v("num_levels_per_group", num_levels_per_group, "levels of each element of a codebook's group",
    at_least(2));
  v("eps", eps, "share by which values stay below the outermost levels", between(0, 0.5));
}

void NemoAudioCodecOptions::visit(OptionVisitor& v) {
  v("path", path, "a .nemo archive, the folder of one, or a file of weights; null: random weights");
  v("sample_rate", sample_rate, "sample rate in Hz", at_least(1));
  v("samples_per_frame", samples_per_frame, "samples of a frame: the product of the rates",
    at_least(1));
  v("audio_encoder", audio_encoder, "audio to latents");
  v("vector_quantizer", vector_quantizer, "finite scalar quantization");
  v("audio_decoder", audio_decoder, "latents to audio");
}

namespace {

using Require = std::function<void(bool holds, const std::string& option,
                                   const std::string& problem, const std::string& expected)>;

void check_half(const HifiGanOptions& half, const std::string& name, int64_t smallest_channels,
                const Require& require) {
  require(!half.rates.empty(), name, "there are no rates", "at least one");
  require(!half.resblock_kernel_sizes.empty() && !half.resblock_dilation_sizes.empty(), name,
          "resblock_kernel_sizes or resblock_dilation_sizes is empty", "at least one entry");
  require(half.activation != "half_snake" || smallest_channels >= 2, name,
          "a stage of a single channel has half_snake", "at least two channels");
  if (half.causal) return;
  std::vector<int64_t> kernels = half.resblock_kernel_sizes;
  kernels.push_back(half.in_kernel_size);
  kernels.push_back(half.out_kernel_size);
  for (const int64_t kernel : kernels) {
    require(kernel % 2 == 1, name, fmt::format("a kernel has {} taps", kernel),
            "odd kernels in a symmetric half");
  }
}

}  // namespace

void check(const NemoAudioCodecOptions& options, const std::string& path) {
  Findings findings;
  const Require require = [&](bool holds, const std::string& option, const std::string& problem,
                              const std::string& expected) {
    if (!holds) findings.add(sizes_error(path + "." + option, problem, expected));
  };
  const EncoderOptions& encoder = options.audio_encoder;
  const DecoderOptions& decoder = options.audio_decoder;
  check_half(encoder, "audio_encoder", encoder.base_channels, require);
  const auto stages = static_cast<int64_t>(decoder.rates.size());
  const int64_t last = decoder.base_channels >> std::min<int64_t>(stages, 62);
  check_half(decoder, "audio_decoder", last, require);
  const int64_t whole = int64_t{1} << std::min<int64_t>(stages, 62);
  require(last >= 1 && decoder.base_channels % whole == 0, "audio_decoder.base_channels",
          fmt::format("{} channels are halved {} times", decoder.base_channels, stages),
          fmt::format("a multiple of {}", whole));
  for (const auto& [rate, name] : {std::pair{encoder.rate(), "audio_encoder.down_sample_rates"},
                                   {decoder.rate(), "audio_decoder.up_sample_rates"}}) {
    require(rate == options.samples_per_frame, name, fmt::format("their product is {}", rate),
            fmt::format("samples_per_frame, {}", options.samples_per_frame));
  }
  const int64_t width = options.vector_quantizer.width();
  const std::string latent = fmt::format(
      "{}, num_groups times the levels of num_levels_per_group in vector_quantizer", width);
  require(encoder.encoded_dim == width, "audio_encoder.encoded_dim",
          std::to_string(encoder.encoded_dim), latent);
  require(decoder.input_dim == width, "audio_decoder.input_dim", std::to_string(decoder.input_dim),
          latent);
  findings.throw_if_any();
}

}  // namespace s2s::nemo_audio_codec
