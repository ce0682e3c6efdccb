#include "codec_options.h"

#include <algorithm>
#include <cmath>

#include "codec_errors.h"

namespace s2s::codec {
namespace {

/// Whether the layers of a period discriminator can mirror `rows` rows at their ends: five taps
/// need three rows, and three taps two. All layers but the last keep every third row.
bool has_rows_for(int64_t rows, size_t num_layers) {
  for (size_t i = 0; i < num_layers; ++i) {
    if (rows < 3) return false;
    if (i + 1 < num_layers) rows = (rows - 1) / 3 + 1;
  }
  return rows >= 2;
}

constexpr int64_t kMostEntries = 65536;  // of a codebook
constexpr size_t kMostLevels = 7;        // of a group, whose product is a number then

/// The narrowest band whose bins, halved three times, can be mirrored.
constexpr int64_t kBinsOfBand = 17;

/// Bins of the narrowest band of the smallest window.
int64_t narrowest_band(const DiscriminatorOptions& options) {
  const int64_t window =
      *std::min_element(options.window_lengths.begin(), options.window_lengths.end());
  const auto bins = static_cast<double>(window / 2 + 1);
  int64_t narrowest = window;
  for (size_t i = 0; i + 1 < options.stft_bands.size(); ++i) {
    narrowest = std::min(narrowest, static_cast<int64_t>(options.stft_bands[i + 1] * bins) -
                                        static_cast<int64_t>(options.stft_bands[i] * bins));
  }
  return narrowest;
}

/// What scalar levels ask of other options.
void check_levels(const CodecOptions& options, const std::string& path, Findings& findings) {
  const size_t count = options.levels.size();
  if (!options.is_scalar()) {
    if (count == 0) return;
    findings.add(options_error(path, "levels is set, and quantizer is rvq", "quantizer: fsq"));
  } else if (count == 0 || count > kMostLevels) {
    findings.add(options_error(
        path, "quantizer is fsq, and levels has " + std::to_string(count) + " entries",
        "1 to " + std::to_string(kMostLevels) + ", such as [8, 5, 5, 5]"));
  } else {
    const int64_t width = options.num_codebooks * static_cast<int64_t>(count);
    if (options.hidden_size != width) {
      findings.add(options_error(
          path,
          "hidden_size is " + std::to_string(options.hidden_size) + ", and quantizer is fsq with " +
              std::to_string(options.num_codebooks) + " times " + std::to_string(count) + " levels",
          "hidden_size: " + std::to_string(width)));
    }
    const int64_t entries = options.entries();
    if (entries > kMostEntries || entries != options.codebook_size.value_or(entries)) {
      findings.add(options_error(
          path, "the product of levels is " + std::to_string(entries),
          "at most " + std::to_string(kMostEntries) + ", and no other codebook_size"));
    }
  }
}

bool is_ascending(const std::vector<double>& edges) {
  return std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) == edges.end();
}

int64_t largest(const std::vector<int64_t>& numbers) {
  return numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
}

}  // namespace

void DiscriminatorOptions::visit(OptionVisitor& v) {
  v("periods", periods, "periods of the multi-period discriminators; empty: none", at_least(1));
  v("period_channels", period_channels, "channels of the layers of each of them", at_least(1));
  v("window_lengths", window_lengths,
    "windows of the STFT discriminators in samples, with a hop of a quarter; empty: none",
    at_least(16));
  v("stft_bands", stft_bands, "ascending edges of the bands, as shares of the bins", between(0, 1));
  v("stft_channels", stft_channels, "channels of the layers of each band", at_least(1));
  v("loss_type", loss_type, "least squares or hinge, of the codec and of the discriminators",
    one_of({"squared", "hinge"}));
  v("feature_loss_type", feature_loss_type,
    "differences of features, divided by the features' mean or not",
    one_of({"relative", "absolute"}));
  v("start_step", start_step, "the codec learns from discriminators from this step on",
    at_least(0));
}

void CodecOptions::visit_quantizer(OptionVisitor& v) {
  v("quantizer", quantizer, "rvq: residual codebooks, or fsq: levels of numbers, in groups",
    one_of({"rvq", "fsq"}));
  v("levels", levels, "of fsq: levels of the numbers of a group", between(2, 256));
  v("num_codebooks", num_codebooks, "codebooks of the residual quantizer, or groups of levels",
    between(1, 64));
  v("codebook_size", codebook_size,
    "codes of a codebook; null: 1024, or the product of levels, which nothing else may be",
    between(2, 65536));
  v("codebook_decay", codebook_decay, "of rvq: decay of the moving averages of codes, per step",
    between(0, 1));
  v("dead_code_share", dead_code_share,
    "of rvq: a code used less often than this share of the mean is replaced by half of a frequent "
    "one",
    between(0, 0.5));
  v("quantizer_dropout", quantizer_dropout,
    "of rvq: share of segments that use a random number of the first codebooks", between(0, 1));
}

void CodecOptions::visit(OptionVisitor& v) {
  v("sampling_rate", sampling_rate,
    "sample rate in Hz; null: data.target_sample_rate, or 24000 if that is not set", at_least(1));
  v("hidden_size", hidden_size, "width of the latents and of the codebooks' entries", at_least(1));
  v("num_filters", num_filters, "channels at the sample rate", at_least(1));
  v("num_residual_layers", num_residual_layers, "residual blocks per ratio", at_least(0));
  v("upsampling_ratios", upsampling_ratios,
    "ratios of the decoder's stages; their product is the samples of a frame", at_least(1));
  v("kernel_size", kernel_size, "taps of the first convolutions", at_least(1));
  v("last_kernel_size", last_kernel_size, "taps of the last convolutions", at_least(1));
  v("residual_kernel_size", residual_kernel_size, "taps in residual blocks", at_least(1));
  v("dilation_growth_rate", dilation_growth_rate, "dilation of block j is its power j",
    at_least(1));
  v("compress", compress, "residual blocks narrow their channels by this", at_least(1));
  v("num_lstm_layers", num_lstm_layers, "layers of each LSTM", at_least(1));
  v("pad_mode", pad_mode, "what convolutions see before and after the audio",
    one_of({"constant", "reflect", "replicate"}));
  v("use_conv_shortcut", use_conv_shortcut, "residual blocks have a convolution as shortcut");
  visit_quantizer(v);
  v("segment_s", segment_s,
    "duration of the random segments of training in seconds, rounded to "
    "frames",
    at_least(1e-3));
  v("speech_share", speech_share,
    "share of segments that lie around a turn of the agent, where the data has turns",
    between(0, 1));
  v("window_lengths", window_lengths,
    "windows of the spectral losses in samples, with a hop of a quarter", at_least(16));
  v("mel_loss_dims", mel_loss_dims, "mel bands of each window", at_least(1));
  v("mel_loss_log_guard", mel_loss_log_guard, "added to mel magnitudes before the logarithm",
    at_least(1e-8));
  v("stft_loss_log_guard", stft_loss_log_guard, "added to magnitudes before the logarithm",
    at_least(1e-8));
  v("mel_loss_l1_scale", mel_loss_l1_scale, "weight of the L1 loss of log mel magnitudes",
    at_least(0));
  v("mel_loss_l2_scale", mel_loss_l2_scale, "weight of their L2 loss", at_least(0));
  v("stft_loss_scale", stft_loss_scale, "weight of the L1 loss of log magnitudes", at_least(0));
  v("time_domain_loss_scale", time_domain_loss_scale, "weight of the L1 loss of samples",
    at_least(0));
  v("commit_loss_scale", commit_loss_scale,
    "of rvq: weight of the distance of latents to their codes", at_least(0));
  v("gen_loss_scale", gen_loss_scale, "weight of what discriminators say of decoded audio",
    at_least(0));
  v("feature_loss_scale", feature_loss_scale,
    "weight of the difference of the discriminators' features", at_least(0));
  v("discriminator", discriminator, "networks that tell decoded audio from recordings");
}

int64_t CodecOptions::segment_samples() const {
  const double frames = segment_s * static_cast<double>(rate_hz()) / static_cast<double>(hop());
  return std::max(int64_t{1}, static_cast<int64_t>(std::llround(frames))) * hop();
}

int64_t CodecOptions::entries() const {
  return is_scalar() ? ScalarLevels(levels).codebook_size() : codebook_size.value_or(1024);
}

SeanetSpec CodecOptions::seanet() const {
  SeanetSpec spec = seanet_sizes(*this);
  spec.num_lstm_layers = num_lstm_layers;
  spec.norm = SeanetNorm::kWeight;
  spec.trains = true;
  return spec;
}

double CodecOptions::bandwidth() const {
  const double frames_per_s =
      std::ceil(static_cast<double>(rate_hz()) / static_cast<double>(hop()));
  const double bits = std::log2(static_cast<double>(entries())) * frames_per_s;
  // Rounded up to mbit/s, because EncodecConfig rounds the number of codebooks down.
  return std::ceil(bits * static_cast<double>(num_codebooks) - 1e-6) / 1000;
}

void check(const CodecOptions& options, const std::string& path) {
  Findings findings;
  const auto require = [&](bool holds, const std::string& problem, const std::string& expected) {
    if (!holds) findings.add(options_error(path, problem, expected));
  };
  require(!options.upsampling_ratios.empty(), "upsampling_ratios is empty", "at least one ratio");
  findings.throw_if_any();
  check_levels(options, path, findings);
  const DiscriminatorOptions& judges = options.discriminator;
  const int64_t segment = options.segment_samples();
  const auto fits_in = [&](int64_t samples, const std::string& what) {
    require(segment > samples,
            what + " needs more than " + std::to_string(samples) +
                " samples, and segment_s gives " + std::to_string(segment),
            "a longer segment_s, or smaller windows and periods");
  };
  require(options.num_filters % options.compress == 0,
          "compress is " + std::to_string(options.compress), "a divisor of num_filters");
  require(options.mel_loss_dims.size() == options.window_lengths.size(),
          "mel_loss_dims has " + std::to_string(options.mel_loss_dims.size()) + " entries",
          std::to_string(options.window_lengths.size()) + ", one for each of window_lengths");
  require(!options.window_lengths.empty(), "window_lengths is empty", "at least one window");
  fits_in(largest(options.window_lengths) / 2, "the mirror of the largest of window_lengths");
  require(judges.period_channels.size() >= 2, "discriminator.period_channels has one entry",
          "at least two");
  require(judges.stft_bands.size() >= 2 && is_ascending(judges.stft_bands),
          "discriminator.stft_bands do not ascend", "at least two ascending edges");
  require(options.mel_loss_l1_scale + options.mel_loss_l2_scale + options.stft_loss_scale +
                      options.time_domain_loss_scale +
                      (options.is_scalar() ? 0 : options.commit_loss_scale) >
                  0 ||
              judges.any(),
          "all losses have the weight 0", "a weight above 0");
  const int64_t period = std::max(largest(judges.periods), int64_t{1});
  require(has_rows_for(segment / period, judges.period_channels.size()),
          "discriminator.periods has " + std::to_string(period) + ", of which " +
              std::to_string(segment) + " samples of segment_s are too few",
          "a longer segment_s, smaller periods, or fewer period_channels");
  fits_in(largest(judges.window_lengths) / 2, "the largest of discriminator.window_lengths");
  findings.throw_if_any();
  if (!judges.window_lengths.empty()) {
    const int64_t bins = narrowest_band(judges);
    require(bins >= kBinsOfBand,
            "the narrowest of discriminator.stft_bands has " + std::to_string(bins) + " bins",
            "at least " + std::to_string(kBinsOfBand) +
                ": larger discriminator.window_lengths, or fewer bands");
  }
  findings.throw_if_any();
}

}  // namespace s2s::codec
