#pragma once
// Options of the codec, under NeMo's names (`codec_config` of DuplexEARTTS).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/options.h"

namespace s2s::rvq_vae {

struct RvqVaeOptions {
  std::optional<std::string> path;
  std::optional<int64_t> sample_rate;
  int64_t latent_size = 512;
  int64_t n_fft = 16;
  int64_t hop_length = 4;
  int64_t base_hidden_size = 384;
  std::vector<int64_t> channel_mult = {1, 2, 4};
  std::vector<int64_t> rates = {7, 7, 9};
  int64_t num_blocks = 3;
  int64_t kernel_size = 7;
  int64_t groups = 1;
  int64_t codebook_size = 1024;
  int64_t num_quantizers = 31;
  int64_t wav_to_token_ratio = 1764;

  void visit(OptionVisitor& v) {
    v("path", path, "file or folder with the weights; null: random weights");
    v("sample_rate", sample_rate,
      "sample rate in Hz; null: data.target_sample_rate, or 22050 if that is not set", at_least(1));
    v("latent_size", latent_size, "elements of a latent frame", at_least(1));
    v("n_fft", n_fft, "samples of a window of the short-time Fourier transform; even", at_least(2));
    v("hop_length", hop_length, "samples between windows", at_least(1));
    v("base_hidden_size", base_hidden_size, "channels, times channel_mult", at_least(1));
    v("channel_mult", channel_mult, "channel factor of each stage", at_least(1));
    v("rates", rates, "down-sampling factor of each stage", at_least(1));
    v("num_blocks", num_blocks, "ConvNeXt blocks per stage", at_least(0));
    v("kernel_size", kernel_size, "taps of the depthwise convolutions", at_least(1));
    v("groups", groups, "groups of the down-sampling convolutions", at_least(1));
    v("codebook_size", codebook_size, "entries of a codebook", at_least(1));
    v("num_quantizers", num_quantizers, "codebooks, each for the residual of those before it",
      at_least(1));
    v("wav_to_token_ratio", wav_to_token_ratio,
      "samples per frame: hop_length times the product of the rates", at_least(1));
  }
};

/// Errors: [codec/stages], [codec/frame-samples], [codec/window], [codec/groups].
void check(const RvqVaeOptions& options, const std::string& path);

}  // namespace s2s::rvq_vae
