#include "dac_options.h"

#include <algorithm>
#include <set>

#include "dac_errors.h"
#include "s2s/nn/frame_codec.h"
#include "s2s/nn/seanet.h"

namespace s2s::dac {

void DacOptions::visit(OptionVisitor& v) {
  v("path", path,
    "folder of DAC in Hugging Face's format, or a file of weights; null: random ones");
  v("num_codebooks", num_codebooks, "first codebooks to use; null: n_codebooks", at_least(1));
  v("sampling_rate", sampling_rate, "sample rate in Hz", at_least(1));
  v("encoder_hidden_size", encoder_hidden_size, "channels at the sample rate", at_least(1));
  v("downsampling_ratios", downsampling_ratios, "ratios of the encoder's stages", at_least(1));
  v("decoder_hidden_size", decoder_hidden_size, "channels at the frame rate", at_least(1));
  v("upsampling_ratios", upsampling_ratios,
    "ratios of the decoder's stages; empty: downsampling_ratios from the last to the first",
    at_least(1));
  v("n_codebooks", n_codebooks, "codebooks of the weights", at_least(1));
  v("codebook_size", codebook_size, "codes of a codebook", at_least(1));
  v("codebook_dim", codebook_dim, "width of a codebook's entries", at_least(1));
}

int64_t DacOptions::hidden_size() const {
  return encoder_hidden_size << downsampling_ratios.size();
}

std::vector<int64_t> DacOptions::decoder_ratios() const {
  if (!upsampling_ratios.empty()) return upsampling_ratios;
  return {downsampling_ratios.rbegin(), downsampling_ratios.rend()};
}

int64_t DacOptions::hop() const { return seanet_hop(downsampling_ratios); }

void check(const DacOptions& options, const std::string& path) {
  Findings findings;
  const auto require = [&](bool holds, const std::string& problem) {
    if (!holds) findings.add(sizes_error(path, problem));
  };
  require(!options.downsampling_ratios.empty(), "downsampling_ratios must have an entry");
  require(options.books() <= options.n_codebooks, "num_codebooks must be at most n_codebooks");
  require(seanet_hop(options.decoder_ratios()) == options.hop(),
          "upsampling_ratios must have the product of downsampling_ratios");
  const int64_t halvings = int64_t{1} << options.decoder_ratios().size();
  require(options.decoder_hidden_size % halvings == 0,
          "decoder_hidden_size must be a multiple of " + std::to_string(halvings) +
              ", because each stage halves it");
  findings.throw_if_any();
}

Config dac_from_hf(const Config& foreign) {
  std::set<std::string> known;
  for (const OptionRow& row : list_options<DacOptions>()) known.insert(row.name);
  for (const char* const own : {"path", "num_codebooks"}) known.erase(own);
  // Settings of training, and what follows from other keys.
  return read_codec_keys(foreign, "dac", known,
                         {"quantizer_dropout", "commitment_loss_weight", "codebook_loss_weight",
                          "hop_length", "hidden_size"});
}

Config dac_to_hf(const DacOptions& options) {
  return write_codec_keys(write_options(options), "dac", "DacModel");
}

}  // namespace s2s::dac
