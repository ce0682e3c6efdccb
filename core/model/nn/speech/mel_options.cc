#include <cmath>

#include "nn/speech/encoder_errors.h"
#include "s2s/nn/mel.h"

namespace s2s {

void MelOptions::visit(OptionVisitor& v) {
  v("sample_rate", sample_rate, "of the audio, in Hz", at_least(1));
  v("window_size", window_size, "of the STFT, in seconds", at_least(0));
  v("window_stride", window_stride, "hop of the STFT, in seconds", at_least(0));
  v("n_window_size", n_window_size, "window in samples, in place of window_size", at_least(1));
  v("n_window_stride", n_window_stride, "hop in samples, in place of window_stride", at_least(1));
  v("window", window, "shape of the window",
    one_of({"hann", "hamming", "blackman", "bartlett", "none"}));
  v("normalize", normalize, "per_feature, all_features, or NA: none (needed for streaming)");
  v("n_fft", n_fft, "samples of the transform; null: the power of two that holds the window",
    at_least(1));
  v("preemph", preemph, "pre-emphasis; null: none");
  v("features", features, "mel bands", at_least(1));
  v("lowfreq", lowfreq, "lowest frequency, in Hz", at_least(0));
  v("highfreq", highfreq, "highest frequency, in Hz; null: half the sample rate");
  v("log", log, "take the logarithm");
  v("log_zero_guard_type", log_zero_guard_type, "how zero power is avoided",
    one_of({"add", "clamp"}));
  v("log_zero_guard_value", log_zero_guard_value, "smallest power", at_least(0));
  v("dither", dither, "accepted, without effect: training keeps the front end in eval mode");
  v("pad_to", pad_to, "round the number of frames up to a multiple of this; 0: leave it",
    at_least(0));
  v("frame_splicing", frame_splicing, "frames stacked into one; only 1");
  v("exact_pad", exact_pad, "only false");
  v("pad_value", pad_value, "value of the frames beyond each length");
  v("mag_power", mag_power, "exponent of the magnitude", at_least(0));
  v("nb_augmentation_prob", nb_augmentation_prob, "narrow-band augmentation; only 0");
  v("nb_max_freq", nb_max_freq, "accepted, without effect while nb_augmentation_prob is 0");
  v("mel_norm", mel_norm, "slaney: triangles of equal area; null: of equal height");
}

int64_t MelOptions::window_samples() const {
  if (n_window_size) return *n_window_size;
  return static_cast<int64_t>(window_size * static_cast<double>(sample_rate));
}

int64_t MelOptions::hop_samples() const {
  if (n_window_stride) return *n_window_stride;
  return static_cast<int64_t>(window_stride * static_cast<double>(sample_rate));
}

int64_t MelOptions::fft_size() const {
  if (n_fft) return *n_fft;
  int64_t size = 1;
  while (size < window_samples()) size *= 2;
  return size;
}

namespace {

void check_supported(const MelOptions& o, const std::string& path) {
  if (o.frame_splicing != 1) {
    throw unsupported_encoder_option(path + ".frame_splicing", std::to_string(o.frame_splicing),
                                     "1");
  }
  if (o.exact_pad) throw unsupported_encoder_option(path + ".exact_pad", "true", "false");
  if (o.nb_augmentation_prob != 0) {
    throw unsupported_encoder_option(path + ".nb_augmentation_prob",
                                     std::to_string(o.nb_augmentation_prob), "0");
  }
  const std::string normalize = o.normalize.value_or("NA");
  if (normalize != "per_feature" && normalize != "all_features" && normalize != "NA" &&
      normalize != "none") {
    throw unsupported_encoder_option(path + ".normalize", normalize,
                                     "per_feature, all_features or NA");
  }
  if (o.mel_norm && *o.mel_norm != "slaney") {
    throw unsupported_encoder_option(path + ".mel_norm", *o.mel_norm, "slaney or null");
  }
}

}  // namespace

void MelOptions::check(const std::string& path) const {
  check_supported(*this, path);
  const auto positive = [&](const char* key, int64_t samples) {
    if (samples < 1) {
      throw bad_encoder_value(path + "." + key, std::to_string(samples) + " samples",
                              "at least one sample");
    }
  };
  positive("window_size", window_samples());
  positive("window_stride", hop_samples());
  if (fft_size() < window_samples()) {
    throw bad_encoder_value(
        path + ".n_fft", std::to_string(fft_size()),
        "at least the window's " + std::to_string(window_samples()) + " samples");
  }
  const double half_rate = static_cast<double>(sample_rate) / 2;
  const double top = highfreq.value_or(half_rate);
  if (top > half_rate || lowfreq >= top) {
    throw bad_encoder_value(path + ".highfreq", std::to_string(top),
                            "more than lowfreq and at most half of sample_rate");
  }
}

}  // namespace s2s
