#include "encodec_options.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "encodec_errors.h"
#include "s2s/nn/frame_codec.h"

namespace s2s::encodec {
namespace {

constexpr const char* kScalarType = "encodec_fsq";
constexpr size_t kMostLevels = 7;  // whose product is a number

}  // namespace

void EncodecOptions::visit(OptionVisitor& v) {
  v("path", path,
    "folder of EnCodec in Hugging Face's format, or a file of weights; null: random ones");
  v("num_codebooks", num_codebooks, "first codebooks to use; null: those of bandwidth",
    at_least(1));
  v("bandwidth", bandwidth, "bandwidth in kbit/s; null: the first of target_bandwidths",
    at_least(0));
  v("target_bandwidths", target_bandwidths, "bandwidths in kbit/s, ascending", at_least(0));
  v("sampling_rate", sampling_rate, "sample rate in Hz", at_least(1));
  v("audio_channels", audio_channels, "channels; mono audio is copied to both", between(1, 2));
  v("normalize", normalize, "divide each chunk by its loudness");
  v("chunk_length_s", chunk_length_s, "seconds of a chunk; null: the recording is one",
    at_least(0));
  v("overlap", overlap, "share of a chunk that overlaps the next", between(0, 1));
  v("hidden_size", hidden_size, "width of the latents", at_least(1));
  v("num_filters", num_filters, "channels at the sample rate", at_least(1));
  v("num_residual_layers", num_residual_layers, "residual blocks per ratio", at_least(0));
  v("upsampling_ratios", upsampling_ratios, "ratios of the decoder's stages", at_least(1));
  v("norm_type", norm_type, "of the convolutions", one_of({"weight_norm", "time_group_norm"}));
  v("kernel_size", kernel_size, "taps of the first convolutions", at_least(1));
  v("last_kernel_size", last_kernel_size, "taps of the last convolutions", at_least(1));
  v("residual_kernel_size", residual_kernel_size, "taps in residual blocks", at_least(1));
  v("dilation_growth_rate", dilation_growth_rate, "dilation of block j is its power j",
    at_least(1));
  v("use_causal_conv", use_causal_conv, "convolutions see no later sample");
  v("pad_mode", pad_mode, "what convolutions see before and after the audio",
    one_of({"constant", "reflect", "replicate"}));
  v("compress", compress, "residual blocks narrow their channels by this", at_least(1));
  v("num_lstm_layers", num_lstm_layers, "layers of each LSTM", at_least(1));
  v("trim_right_ratio", trim_right_ratio,
    "share of a transposed convolution's overlap that is cut at the end", between(0, 1));
  v("codebook_size", codebook_size, "codes of a codebook", at_least(2));
  v("codebook_dim", codebook_dim, "width of a codebook's entries; null: hidden_size", at_least(1));
  v("scalar_levels", scalar_levels,
    "of an export of model.type codec: levels of the numbers of a code; empty: codebooks",
    between(2, 256));
  v("use_conv_shortcut", use_conv_shortcut, "residual blocks have a convolution as shortcut");
}

int64_t EncodecOptions::books_of(double kbits_per_s) const {
  const double rate = std::ceil(static_cast<double>(sampling_rate) / static_cast<double>(hop()));
  const double bits = std::log2(static_cast<double>(codebook_size)) * rate;
  return std::max(int64_t{1}, static_cast<int64_t>(std::floor(1000 * kbits_per_s / bits)));
}

int64_t EncodecOptions::stored_books() const {
  if (is_scalar()) return hidden_size / static_cast<int64_t>(scalar_levels.size());
  return books_of(target_bandwidths.back());
}

int64_t EncodecOptions::books() const {
  if (num_codebooks) return *num_codebooks;
  if (is_scalar()) return stored_books();
  return books_of(bandwidth.value_or(target_bandwidths.front()));
}

int64_t EncodecOptions::chunk_samples() const {
  return static_cast<int64_t>(chunk_length_s.value_or(0) * static_cast<double>(sampling_rate));
}

int64_t EncodecOptions::chunk_stride() const {
  const double chunk = static_cast<double>(chunk_samples());
  return std::max(int64_t{1}, static_cast<int64_t>((1 - overlap.value_or(0)) * chunk));
}

bool EncodecOptions::needs_whole() const {
  return norm_type == "time_group_norm" || normalize || chunk_samples() > 0;
}

SeanetSpec EncodecOptions::seanet() const {
  SeanetSpec spec = seanet_sizes(*this);
  spec.audio_channels = audio_channels;
  spec.num_lstm_layers = num_lstm_layers;
  spec.use_causal_conv = use_causal_conv;
  spec.trim_right_ratio = trim_right_ratio;
  spec.norm = norm_type == "weight_norm" ? SeanetNorm::kWeight : SeanetNorm::kGroup;
  return spec;
}

void check(const EncodecOptions& options, const std::string& path) {
  Findings findings;
  const auto require = [&](bool holds, const std::string& problem) {
    if (!holds) findings.add(sizes_error(path, problem));
  };
  const auto& bandwidths = options.target_bandwidths;
  require(!options.upsampling_ratios.empty(), "upsampling_ratios must have an entry");
  require(!bandwidths.empty() && std::is_sorted(bandwidths.begin(), bandwidths.end()),
          "target_bandwidths must have an entry, and ascend");
  findings.throw_if_any();
  require(!options.bandwidth || std::find(bandwidths.begin(), bandwidths.end(),
                                          *options.bandwidth) != bandwidths.end(),
          "bandwidth must be one of target_bandwidths");
  if (options.is_scalar()) {
    require(options.scalar_levels.size() <= kMostLevels &&
                options.hidden_size % static_cast<int64_t>(options.scalar_levels.size()) == 0,
            "scalar_levels must have at most 7 entries, of a number that divides hidden_size");
    findings.throw_if_any();
    require(options.books() == options.stored_books(), "num_codebooks must be all " +
                                                           std::to_string(options.stored_books()) +
                                                           " of scalar_levels");
    require(options.codebook_size == ScalarLevels(options.scalar_levels).codebook_size(),
            "codebook_size must be the product of scalar_levels");
  }
  require(options.books() <= options.stored_books(),
          "num_codebooks must be at most " + std::to_string(options.stored_books()) +
              ", the codebooks of the largest of target_bandwidths");
  require(options.codebook_dim.value_or(options.hidden_size) == options.hidden_size,
          "codebook_dim must be hidden_size");
  require(options.num_filters % options.compress == 0, "compress must divide num_filters");
  require(options.use_causal_conv || options.trim_right_ratio == 1,
          "trim_right_ratio must be 1 without use_causal_conv");
  findings.throw_if_any();
}

Config encodec_from_hf(const Config& foreign) {
  std::set<std::string> known;
  for (const OptionRow& row : list_options<EncodecOptions>()) known.insert(row.name);
  for (const char* const own : {"path", "num_codebooks", "bandwidth"}) known.erase(own);
  // An export with scalar levels has a type of its own, so that transformers refuses it.
  const Config* const type = foreign.find("model_type");
  const bool is_scalar = type != nullptr && type->is_scalar() && type->text() == kScalarType;
  return read_codec_keys(foreign, is_scalar ? kScalarType : "encodec", known);
}

}  // namespace s2s::encodec
