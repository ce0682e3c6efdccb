#pragma once
// Options of the codec, under the names of Hugging Face's config.json.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/seanet.h"
#include "s2s/options.h"

namespace s2s::encodec {

struct EncodecOptions {
  std::optional<std::string> path;
  std::optional<int64_t> num_codebooks;
  std::optional<double> bandwidth;
  std::vector<double> target_bandwidths = {1.5, 3, 6, 12, 24};
  int64_t sampling_rate = 24000;
  int64_t audio_channels = 1;
  bool normalize = false;
  std::optional<double> chunk_length_s;
  std::optional<double> overlap;
  int64_t hidden_size = 128;
  int64_t num_filters = 32;
  int64_t num_residual_layers = 1;
  std::vector<int64_t> upsampling_ratios = {8, 5, 4, 2};
  std::string norm_type = "weight_norm";
  int64_t kernel_size = 7;
  int64_t last_kernel_size = 7;
  int64_t residual_kernel_size = 3;
  int64_t dilation_growth_rate = 2;
  bool use_causal_conv = true;
  std::string pad_mode = "reflect";
  int64_t compress = 2;
  int64_t num_lstm_layers = 2;
  double trim_right_ratio = 1;
  int64_t codebook_size = 1024;
  std::optional<int64_t> codebook_dim;
  std::vector<int64_t> scalar_levels;
  bool use_conv_shortcut = true;

  void visit(OptionVisitor& v);
  /// Samples of a frame.
  int64_t hop() const { return seanet_hop(upsampling_ratios); }
  /// Codebooks of the weights: those of the largest bandwidth.
  int64_t stored_books() const;
  /// Finite scalar quantization instead of codebooks.
  bool is_scalar() const { return !scalar_levels.empty(); }
  /// Codebooks of a bandwidth in kbit/s.
  int64_t books_of(double kbits_per_s) const;
  /// The first books of each frame, which encode and decode use.
  int64_t books() const;
  /// Samples of a chunk; 0: the recording is one.
  int64_t chunk_samples() const;
  /// Samples from the beginning of a chunk to that of the next.
  int64_t chunk_stride() const;
  /// The encoder normalizes over all that it is given, so that it cannot encode piece by piece.
  bool needs_whole() const;
  SeanetSpec seanet() const;
};

/// Errors: [codec/encodec-sizes], all findings together.
void check(const EncodecOptions& options, const std::string& path);

/// Options from a config.json of EnCodec. Errors: [weights/config].
Config encodec_from_hf(const Config& foreign);

}  // namespace s2s::encodec
