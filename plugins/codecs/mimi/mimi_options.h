#pragma once
// Options of the codec, under the names of Hugging Face's config.json.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/seanet.h"
#include "s2s/options.h"

namespace s2s::mimi {

struct MimiOptions {
  std::optional<std::string> path;
  std::optional<int64_t> num_codebooks;
  int64_t sampling_rate = 24000;
  std::optional<double> frame_rate;
  int64_t hidden_size = 512;
  int64_t num_filters = 64;
  int64_t num_residual_layers = 1;
  std::vector<int64_t> upsampling_ratios = {8, 6, 5, 4};
  int64_t kernel_size = 7;
  int64_t last_kernel_size = 3;
  int64_t residual_kernel_size = 3;
  int64_t dilation_growth_rate = 2;
  int64_t compress = 2;
  int64_t codebook_size = 2048;
  int64_t codebook_dim = 256;
  int64_t num_quantizers = 32;
  int64_t num_semantic_quantizers = 1;
  int64_t vector_quantization_hidden_dimension = 256;
  int64_t upsample_groups = 512;
  int64_t num_hidden_layers = 8;
  int64_t intermediate_size = 2048;
  int64_t num_attention_heads = 8;
  int64_t num_key_value_heads = 8;
  std::optional<int64_t> head_dim;
  double norm_eps = 1e-5;
  double rope_theta = 10000;
  int64_t sliding_window = 250;
  bool use_causal_conv = true;
  bool use_conv_shortcut = false;
  std::string pad_mode = "constant";
  double trim_right_ratio = 1;
  std::string hidden_act = "gelu";
  bool attention_bias = false;

  void visit(OptionVisitor& v);
  /// The first books of each frame, which encode and decode use.
  int64_t books() const { return num_codebooks.value_or(num_quantizers); }
  int64_t width_of_head() const { return head_dim.value_or(hidden_size / num_attention_heads); }
  /// Samples of a frame of the transformers: the product of the ratios.
  int64_t hop() const;
  /// Their frames in a frame of codes; 1: nothing is down-sampled.
  int64_t latent_stride() const;
  int64_t frame_samples() const { return hop() * latent_stride(); }
  /// The convolutions.
  SeanetSpec seanet() const;
};

/// Errors: [codec/mimi-sizes], all findings together.
void check(const MimiOptions& options, const std::string& path);

/// Options from a config.json of Mimi, or of a model of transformers that contains one (Moshi,
/// CSM). Errors: [weights/config].
Config mimi_from_hf(const Config& foreign);
/// The inverse: the config.json of transformers' MimiModel.
Config mimi_to_hf(const MimiOptions& options);

}  // namespace s2s::mimi
