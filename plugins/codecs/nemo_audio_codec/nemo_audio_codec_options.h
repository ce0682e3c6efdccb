#pragma once
// Options of the codec, under the names of NeMo's model_config.yaml.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/options.h"

namespace s2s::nemo_audio_codec {

/// What the encoder and the decoder have in common.
struct HifiGanOptions {
  bool causal = true;
  std::vector<int64_t> rates;
  int64_t base_channels = 32;
  int64_t in_kernel_size = 7;
  int64_t out_kernel_size = 7;
  std::vector<int64_t> resblock_kernel_sizes = {3, 7, 11};
  std::vector<int64_t> resblock_dilation_sizes = {1, 3, 5};
  std::string activation = "lrelu";
  std::string pad_mode = "reflect";

  /// `rates_name`: the option's name of the rates.
  void visit_shared(OptionVisitor& v, const char* rates_name);
  int64_t rate() const;
};

struct EncoderOptions : HifiGanOptions {
  EncoderOptions() { rates = {2, 3, 6, 7, 7}; }
  int64_t encoded_dim = 16;
  void visit(OptionVisitor& v);
};

struct DecoderOptions : HifiGanOptions {
  DecoderOptions();
  int64_t input_dim = 16;
  std::string output_activation = "tanh";
  bool n_groups_equal_to_out_channels = true;
  void visit(OptionVisitor& v);
};

struct QuantizerOptions {
  int64_t num_groups = 4;
  std::vector<int64_t> num_levels_per_group = {9, 8, 8, 7};
  double eps = 1e-3;
  void visit(OptionVisitor& v);
  int64_t width() const { return num_groups * static_cast<int64_t>(num_levels_per_group.size()); }
};

struct NemoAudioCodecOptions {
  std::optional<std::string> path;
  int64_t sample_rate = 22050;
  int64_t samples_per_frame = 1764;
  EncoderOptions audio_encoder;
  QuantizerOptions vector_quantizer;
  DecoderOptions audio_decoder;
  void visit(OptionVisitor& v);
};

/// Errors: [codec/nemo-sizes], all findings together.
void check(const NemoAudioCodecOptions& options, const std::string& path);

/// Options from the model_config.yaml of an AudioCodecModel. Errors: [weights/config].
Config from_nemo(const Config& foreign);

}  // namespace s2s::nemo_audio_codec
