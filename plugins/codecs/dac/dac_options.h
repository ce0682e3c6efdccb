#pragma once
// Options of the codec, under the names of Hugging Face's config.json.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/options.h"

namespace s2s::dac {

struct DacOptions {
  std::optional<std::string> path;
  std::optional<int64_t> num_codebooks;
  int64_t sampling_rate = 16000;
  int64_t encoder_hidden_size = 64;
  std::vector<int64_t> downsampling_ratios = {2, 4, 8, 8};
  int64_t decoder_hidden_size = 1536;
  std::vector<int64_t> upsampling_ratios;
  int64_t n_codebooks = 9;
  int64_t codebook_size = 1024;
  int64_t codebook_dim = 8;

  void visit(OptionVisitor& v);
  /// The first books of each frame, which encode and decode use.
  int64_t books() const { return num_codebooks.value_or(n_codebooks); }
  /// Width of the latents.
  int64_t hidden_size() const;
  std::vector<int64_t> decoder_ratios() const;
  /// Samples of a frame.
  int64_t hop() const;
};

/// Errors: [codec/dac-sizes], all findings together.
void check(const DacOptions& options, const std::string& path);

/// Options from a config.json of DAC. Errors: [weights/config].
Config dac_from_hf(const Config& foreign);
/// The inverse: the config.json of transformers' DacModel.
Config dac_to_hf(const DacOptions& options);

}  // namespace s2s::dac
