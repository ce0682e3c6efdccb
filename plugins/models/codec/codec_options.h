#pragma once
// Options of the model that trains a codec. Sizes have the names and defaults of EncodecConfig
// (transformers, 24 kHz), losses those of NeMo's AudioCodecModel, discriminators' and quantizer's
// those of DAC where it has them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/seanet.h"
#include "s2s/options.h"

namespace s2s::codec {

/// Networks that tell decoded audio from recordings.
struct DiscriminatorOptions {
  std::vector<int64_t> periods;
  std::vector<int64_t> period_channels = {32, 128, 512, 1024, 1024};
  std::vector<int64_t> window_lengths;
  std::vector<double> stft_bands = {0, 0.1, 0.25, 0.5, 0.75, 1};
  int64_t stft_channels = 32;
  std::string loss_type = "squared";
  std::string feature_loss_type = "relative";
  int64_t start_step = 0;
  void visit(OptionVisitor& v);
  bool any() const { return !periods.empty() || !window_lengths.empty(); }
};

/// The `model` block, except for the keys that the trainer reads.
struct CodecOptions {
  std::optional<int64_t> sampling_rate;
  int64_t hidden_size = 128;
  int64_t num_filters = 32;
  int64_t num_residual_layers = 1;
  std::vector<int64_t> upsampling_ratios = {8, 5, 4, 2};
  int64_t kernel_size = 7;
  int64_t last_kernel_size = 7;
  int64_t residual_kernel_size = 3;
  int64_t dilation_growth_rate = 2;
  int64_t compress = 2;
  int64_t num_lstm_layers = 2;
  std::string pad_mode = "reflect";
  bool use_conv_shortcut = true;

  int64_t num_codebooks = 8;
  std::string quantizer = "rvq";
  std::vector<int64_t> levels;
  std::optional<int64_t> codebook_size;
  double codebook_decay = 0.99;
  double dead_code_share = 0.1;
  double quantizer_dropout = 0.5;

  double segment_s = 1;
  double speech_share = 0.9;
  std::vector<int64_t> window_lengths = {2048, 1024, 512, 256, 128, 64, 32};
  std::vector<int64_t> mel_loss_dims = {320, 160, 80, 40, 20, 10, 5};
  double mel_loss_log_guard = 1;
  double stft_loss_log_guard = 1;
  double mel_loss_l1_scale = 10;
  double mel_loss_l2_scale = 0;
  double stft_loss_scale = 10;
  double time_domain_loss_scale = 0;
  double commit_loss_scale = 1;
  double gen_loss_scale = 1;
  double feature_loss_scale = 1;
  DiscriminatorOptions discriminator;

  void visit(OptionVisitor& v);
  void visit_quantizer(OptionVisitor& v);
  int64_t rate_hz() const { return sampling_rate.value_or(24000); }
  bool is_scalar() const { return quantizer == "fsq"; }
  /// Codes of a codebook.
  int64_t entries() const;
  /// Samples of a frame.
  int64_t hop() const { return seanet_hop(upsampling_ratios); }
  /// Samples of a training segment: whole frames, at least one.
  int64_t segment_samples() const;
  SeanetSpec seanet() const;
  /// kbit/s of all codebooks, so that EncodecConfig computes `num_codebooks` from it.
  double bandwidth() const;
};

/// Errors: [codec/training-options], all findings together.
void check(const CodecOptions& options, const std::string& path);

}  // namespace s2s::codec
