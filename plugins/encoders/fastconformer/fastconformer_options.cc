#include "fastconformer_options.h"

#include <cstdlib>

namespace s2s::fastconformer {

void SpecAugmentOptions::visit(OptionVisitor& v) {
  v("freq_masks", freq_masks, "number of frequency bands to mask", at_least(0));
  v("time_masks", time_masks, "number of time spans to mask", at_least(0));
  v("freq_width", freq_width, "maximum width of a masked band, in mel bands", at_least(0));
  v("time_width", time_width,
    "maximum length of a time span: frames (10) or a fraction of the row (0.05)");
}

void AugmentOptions::visit(OptionVisitor& v) {
  v("gain_db", gain_db, "loudness drawn from [-this, this], in dB", at_least(0));
  v("noise_snr_db", noise_snr_db,
    "[low, high] of the signal over colored noise, in dB; empty: "
    "no noise");
  v("warp", warp, "maximum fraction by which mel bands are stretched", between(0, 0.5));
}

/// A small streaming encoder: 80 ms per frame, at most one frame of look-ahead.
FastConformerOptions::FastConformerOptions() {
  preprocessor.window_size = 0.025;
  preprocessor.n_fft = 512;
  preprocessor.features = 80;
  preprocessor.normalize = "NA";
  preprocessor.dither = 0;
  preprocessor.pad_to = 0;
  encoder.feat_in = 80;
  encoder.n_layers = 4;
  encoder.d_model = 256;
  encoder.subsampling = "dw_striding";
  encoder.subsampling_factor = 8;
  encoder.subsampling_conv_channels = 64;
  encoder.causal_downsampling = true;
  encoder.att_context_size = Config::list({Config::scalar("70"), Config::scalar("1")});
  encoder.att_context_style = "chunked_limited";
  encoder.conv_kernel_size = 9;
  encoder.conv_norm_type = "layer_norm";
  encoder.conv_context_size = Config::scalar("causal");
  encoder.dropout_emb = 0;
}

void FastConformerOptions::visit(OptionVisitor& v) {
  v("preprocessor", preprocessor, "front end: audio to log-mel features");
  v("encoder", encoder, "Conformer: features to frames");
  v("spec_augment", spec_augment, "masks on the features in training (SpecAugment)");
  v("augment", augment, "changes of the mel power in training");
  v("path", path, "folder or safetensors file with weights; null: random weights");
  v("checkpoint", checkpoint, "naming scheme of the parameters in the weight file",
    one_of({"nemo", "parakeet", "nemotron"}));
}

namespace {

/// [encoder/bands]: the front end has another number of mel bands than the encoder.
Error bands_differ(const std::string& place, int64_t features, int64_t feat_in) {
  return config_error("encoder/bands",
                      place + ": preprocessor.features is " + std::to_string(features) +
                          " and encoder.feat_in is " + std::to_string(feat_in) +
                          "; expected the same number of mel bands; set one to the other");
}

/// [encoder/augment]: an augmentation option has an invalid value.
Error bad_augmentation(const std::string& key, const std::string& value,
                       const std::string& expected) {
  return config_error("encoder/augment",
                      key + ": " + value + "; expected " + expected + "; correct it, or remove it");
}

void check_time_width(const std::string& text, const std::string& key) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool share = text.find_first_of(".eE") != std::string::npos;
  if (text.empty() || *end != '\0' || value < 0 || (share && value > 1)) {
    throw bad_augmentation(key, text, "a number of frames, or a share between 0.0 and 1.0");
  }
}

}  // namespace

void FastConformerOptions::check(const std::string& place) const {
  preprocessor.check(place + ".preprocessor");
  encoder.check(place + ".encoder");
  if (preprocessor.features != encoder.feat_in) {
    throw bands_differ(place, preprocessor.features, encoder.feat_in);
  }
  check_time_width(spec_augment.time_width, place + ".spec_augment.time_width");
  // The default is meant for more bands. It masks all of fewer, as in NeMo.
  const bool is_default = spec_augment.freq_width == SpecAugmentOptions().freq_width;
  if (spec_augment.freq_width > preprocessor.features && !is_default) {
    throw bad_augmentation(place + ".spec_augment.freq_width",
                           std::to_string(spec_augment.freq_width),
                           "at most the " + std::to_string(preprocessor.features) + " mel bands");
  }
  const auto& snr = augment.noise_snr_db;
  if (!snr.empty() && (snr.size() != 2 || snr[0] > snr[1])) {
    throw bad_augmentation(place + ".augment.noise_snr_db", std::to_string(snr.size()) + " numbers",
                           "two numbers, the lower one first");
  }
}

}  // namespace s2s::fastconformer
