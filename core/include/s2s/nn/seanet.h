#pragma once
// SEANet, the convolutions of several codecs, under the names that transformers gives them
// ("layers.0.conv", "layers.1.block.1.conv", "layers.1.shortcut.conv").

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/nn/audio.h"

namespace s2s {

/// How the weights of a SEANet are normalized: not, by weight norm, or by a GroupNorm of one group
/// over channels and positions after each convolution, which has to see the whole piece.
enum class SeanetNorm { kNone, kWeight, kGroup };

/// Sizes of an encoder and of the decoder that mirrors it. Names and values are those of
/// the configurations in transformers.
struct SeanetSpec {
  int64_t audio_channels = 1, hidden_size = 128, num_filters = 32, num_residual_layers = 1;
  std::vector<int64_t> upsampling_ratios = {8, 5, 4, 2};
  int64_t kernel_size = 7, last_kernel_size = 7, residual_kernel_size = 3;
  int64_t dilation_growth_rate = 2, compress = 2;
  int64_t num_lstm_layers = 0;  // 0: none
  bool use_causal_conv = true, use_conv_shortcut = false;
  EdgePadding padding = EdgePadding::kZeros;
  double trim_right_ratio = 1;  // of a causal transposed convolution's overlap, cut at the end
  SeanetNorm norm = SeanetNorm::kNone;
  bool trains = false;  // weights are parameters; not with kGroup
};

/// The padding of a `pad_mode`: constant, reflect or replicate.
EdgePadding edge_padding(const std::string& pad_mode);

/// The sizes that options have under transformers' names.
template <class Options>
SeanetSpec seanet_sizes(const Options& options) {
  return {.hidden_size = options.hidden_size,
          .num_filters = options.num_filters,
          .num_residual_layers = options.num_residual_layers,
          .upsampling_ratios = options.upsampling_ratios,
          .kernel_size = options.kernel_size,
          .last_kernel_size = options.last_kernel_size,
          .residual_kernel_size = options.residual_kernel_size,
          .dilation_growth_rate = options.dilation_growth_rate,
          .compress = options.compress,
          .use_conv_shortcut = options.use_conv_shortcut,
          .padding = edge_padding(options.pad_mode)};
}

/// The product of the ratios: samples of a latent.
int64_t seanet_hop(const std::vector<int64_t>& ratios);

/// audio [B, audio_channels, S] -> latents [B, hidden_size, S / hop].
void add_seanet_encoder(AudioStack& stack, const SeanetSpec& spec);
/// latents [B, hidden_size, T] -> audio [B, audio_channels, T * hop]; causal with a
/// trim_right_ratio below 1, and not causal, the same number of samples.
void add_seanet_decoder(AudioStack& stack, const SeanetSpec& spec);

}  // namespace s2s
