#include "s2s/nn/mel.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "nn/speech/encoder_errors.h"
#include "s2s/nn/full_precision.h"
#include "s2s/nn/rows.h"

namespace s2s {

void MelOptions::visit(OptionVisitor& v) {
  v("sample_rate", sample_rate, "sample rate of the audio, in Hz", at_least(1));
  v("window_size", window_size, "window of the STFT, in seconds", at_least(0));
  v("window_stride", window_stride, "hop of the STFT, in seconds", at_least(0));
  v("n_window_size", n_window_size, "window of the STFT in samples, replaces window_size",
    at_least(1));
  v("n_window_stride", n_window_stride, "hop of the STFT in samples, replaces window_stride",
    at_least(1));
  v("window", window, "window function",
    one_of({"hann", "hamming", "blackman", "bartlett", "none"}));
  v("normalize", normalize,
    "normalization: per_feature, all_features, or NA: none (required for streaming)");
  v("n_fft", n_fft, "FFT size in samples; null: the smallest power of two that fits the window",
    at_least(1));
  v("preemph", preemph, "pre-emphasis coefficient; null: none");
  v("features", features, "number of mel bands", at_least(1));
  v("lowfreq", lowfreq, "lowest frequency, in Hz", at_least(0));
  v("highfreq", highfreq, "highest frequency, in Hz; null: half the sample rate");
  v("log", log, "return the logarithm of the mel power");
  v("log_zero_guard_type", log_zero_guard_type, "how to avoid the logarithm of zero",
    one_of({"add", "clamp"}));
  v("log_zero_guard_value", log_zero_guard_value,
    "value that is added, or the minimum power (clamp)", at_least(0));
  v("dither", dither, "accepted and ignored: in training the front end is in eval mode");
  v("pad_to", pad_to, "round the number of frames up to a multiple of this; 0: no rounding",
    at_least(0));
  v("frame_splicing", frame_splicing, "number of frames stacked into one; only 1");
  v("exact_pad", exact_pad, "padding without centering; only false");
  v("pad_value", pad_value, "value of padding frames");
  v("mag_power", mag_power, "exponent of the magnitude spectrum", at_least(0));
  v("nb_augmentation_prob", nb_augmentation_prob, "narrow-band augmentation; only 0");
  v("nb_max_freq", nb_max_freq, "accepted and ignored while nb_augmentation_prob is 0");
  v("mel_norm", mel_norm, "slaney: triangles of equal area; null: triangles of equal height");
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

namespace {

/// Pads the window with zeros on both sides to n_fft samples.
at::Tensor centered_window(const at::Tensor& window, int64_t n_fft) {
  const int64_t left = (n_fft - window.size(0)) / 2;
  return at::constant_pad_nd(window.to(at::kFloat), {left, n_fft - window.size(0) - left});
}

/// Pre-emphasis, x - c * before. The product is rounded before it is subtracted, as NeMo does it: a
/// fused multiply-add changes the bands where a tone leaves nothing, and per_feature makes that
/// large.
at::Tensor emphasized(const at::Tensor& x_BS, const at::Tensor& before_BS, double coefficient) {
  return x_BS - before_BS * coefficient;
}

/// Power spectrum of the frames of a padded signal: [B, S'] -> [B, T, N].
at::Tensor power_of_frames(const at::Tensor& extended_BS, const at::Tensor& window_of_fft,
                           int64_t hop_samples) {
  const int64_t n_fft = window_of_fft.size(0);
  const at::Tensor frames_BTW = extended_BS.unfold(1, n_fft, hop_samples) * window_of_fft;
  const at::Tensor spectrum = at::fft_rfft(frames_BTW);
  const at::Tensor imaginary = at::imag(spectrum);
  return at::real(spectrum).square().addcmul_(imaginary, imaginary);
}

bool is_none(const std::optional<std::string>& normalize) {
  return !normalize || *normalize == "NA" || *normalize == "none";
}

struct Moments {
  at::Tensor mean, deviation;  // [B, 1, F] or [B, 1, 1]
};

/// Mean and unbiased standard deviation over valid frames (0 for a single frame).
Moments moments(const at::Tensor& x_BTF, const at::Tensor& valid_BT1, bool per_feature) {
  const auto dims = per_feature ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2};
  const at::Tensor frames = valid_BT1.sum(1, true);
  const at::Tensor count = per_feature ? frames : frames * x_BTF.size(2);
  const at::Tensor mean = at::where(valid_BT1, x_BTF, 0.0f).sum(dims, true) / count;
  const at::Tensor spread = at::where(valid_BT1, x_BTF - mean, 0.0f).square_();
  at::Tensor deviation = (spread.sum(dims, true) / (count - 1)).sqrt_();
  deviation.masked_fill_(deviation.isnan(), 0.0).add_(1e-5);
  return {mean, deviation};
}

// The Slaney mel scale: linear up to 1000 Hz, logarithmic above.
constexpr double kHzPerMel = 200.0 / 3;
constexpr double kBreakHz = 1000;
constexpr double kBreakMel = kBreakHz / kHzPerMel;
const double kLogStep = std::log(6.4) / 27.0;

double mel_of_hz(double hz) {
  return hz < kBreakHz ? hz / kHzPerMel : kBreakMel + std::log(hz / kBreakHz) / kLogStep;
}

double hz_of_mel(double mel) {
  return mel < kBreakMel ? kHzPerMel * mel : kBreakHz * std::exp(kLogStep * (mel - kBreakMel));
}

/// Corner frequencies of the triangles, evenly spaced in mel.
std::vector<double> corners_hz(const MelBank& bank, double high_hz) {
  const double low = mel_of_hz(bank.low_hz), high = mel_of_hz(high_hz);
  const int64_t count = bank.num_mels + 2;
  const double step = (high - low) / static_cast<double>(count - 1);
  std::vector<double> corners;
  for (int64_t i = 0; i < count; ++i) {
    const double mel = i + 1 == count ? high : low + static_cast<double>(i) * step;
    corners.push_back(hz_of_mel(mel));
  }
  return corners;
}

}  // namespace

at::Tensor power_spectrogram(const at::Tensor& audio_BS, const at::Tensor& window, int64_t n_fft,
                             int64_t hop_samples) {
  const int64_t half = n_fft / 2;
  return power_of_frames(at::constant_pad_nd(audio_BS, {half, half}),
                         centered_window(window, n_fft), hop_samples);
}

at::Tensor log_mel(const at::Tensor& audio_BS, const at::Tensor& window, const at::Tensor& bank_FN,
                   int64_t hop_samples, double floor) {
  const FullPrecision full_precision;
  const int64_t n_fft = 2 * (bank_FN.size(1) - 1);
  const at::Tensor power = power_spectrogram(audio_BS, window, n_fft, hop_samples);
  return at::matmul(power, bank_FN.t()).add_(floor).log_();
}

at::Tensor whisper_log_mel(const at::Tensor& audio_BS, const at::Tensor& window,
                           const at::Tensor& bank_FN, int64_t hop_samples) {
  const FullPrecision full_precision;
  const int64_t half = bank_FN.size(1) - 1;
  const at::Tensor power_BTN = power_of_frames(at::reflection_pad1d(audio_BS, {half, half}),
                                               centered_window(window, 2 * half), hop_samples);
  const at::Tensor mel_BTF = at::matmul(power_BTN.slice(1, 0, -1), bank_FN.t());
  const at::Tensor log_BTF = mel_BTF.clamp_min(1e-10).log10();
  return (at::maximum(log_BTF, log_BTF.amax({1, 2}, /*keepdim=*/true) - 8) + 4) / 4;
}

MelFrontEnd::MelFrontEnd(MelOptions options, const std::string& path, bool stored)
    : options_(std::move(options)), path_(path) {
  options_.check(path);
  register_buffer("featurizer.window", window_, stored);
  register_buffer("featurizer.fb", bank_1FN_, stored);
}

MelFrontEnd::~MelFrontEnd() = default;

void MelFrontEnd::reset_buffers() {
  window_ = stft_window(options_.window, options_.window_samples(), false);
  MelBank bank{options_.sample_rate, options_.fft_size(), options_.features, options_.lowfreq};
  bank.high_hz = options_.highfreq.value_or(0);
  bank.slaney_norm = options_.mel_norm.has_value();
  bank_1FN_ = mel_filterbank(bank).unsqueeze(0);
}

int64_t MelFrontEnd::frames(int64_t num_samples) const {
  const int64_t odd = options_.fft_size() % 2;
  return num_samples < 1 ? 0 : (num_samples - odd) / options_.hop_samples();
}

at::Tensor MelFrontEnd::frames(const at::Tensor& lengths_B) const {
  const at::Tensor samples = (lengths_B.to(at::kLong) - options_.fft_size() % 2).clamp_min_(0);
  return at::floor_divide(samples, options_.hop_samples());
}

int64_t MelFrontEnd::width(int64_t num_samples) const {
  const int64_t columns = (num_samples - options_.fft_size() % 2) / options_.hop_samples() + 1;
  if (options_.pad_to == 0) return columns;
  return (columns + options_.pad_to - 1) / options_.pad_to * options_.pad_to;
}

at::Tensor MelFrontEnd::mel_of(const at::Tensor& power_BTN) const {
  const FullPrecision full_precision;
  const at::Tensor bank_NF = bank_1FN_.to(at::kFloat).squeeze(0).t();
  const double exponent = options_.mag_power / 2;
  const at::Tensor x_BTN = exponent == 1 ? power_BTN : power_BTN.pow(exponent);
  const at::Tensor mel = at::mm(x_BTN.flatten(0, 1), bank_NF);
  return mel.view({x_BTN.size(0), x_BTN.size(1), bank_NF.size(1)});
}

at::Tensor MelFrontEnd::mel_power(const at::Tensor& audio_BS, const at::Tensor& lengths_B) const {
  const c10::NoGradGuard no_grad;
  const int64_t half = options_.fft_size() / 2, samples = audio_BS.size(1);
  at::Tensor x_BS = at::constant_pad_nd(audio_BS.to(at::kFloat), {half, half});
  at::Tensor inner = x_BS.narrow(1, half, samples);
  if (options_.preemph && samples > 1) {
    const at::Tensor all_BS = audio_BS.to(at::kFloat);
    inner.narrow(1, 1, samples - 1)
        .copy_(emphasized(all_BS.narrow(1, 1, samples - 1), all_BS.narrow(1, 0, samples - 1),
                          *options_.preemph));
  }
  if (options_.preemph) {  // NeMo masks in the same place as pre-emphasis
    const at::Tensor lengths = lengths_B.to(audio_BS.device(), at::kLong);
    inner.masked_fill_(length_mask(lengths, samples).logical_not(), 0.0);
  }
  const at::Tensor window = centered_window(window_, options_.fft_size());
  return mel_of(power_of_frames(x_BS, window, options_.hop_samples()));
}

at::Tensor MelFrontEnd::compress(const at::Tensor& power_BTF) const {
  if (!options_.log) return power_BTF;
  const double guard = options_.log_zero_guard_value;
  if (options_.log_zero_guard_type == "clamp") return power_BTF.clamp_min(guard).log_();
  return power_BTF.add(guard).log_();
}

at::Tensor MelFrontEnd::features(const at::Tensor& power_BTF, const at::Tensor& frames_B) const {
  const c10::NoGradGuard no_grad;
  at::Tensor x_BTF = compress(power_BTF);
  const at::Tensor valid = length_mask(frames_B.to(x_BTF.device()), x_BTF.size(1)).unsqueeze(-1);
  if (!is_none(options_.normalize)) {
    const Moments m = moments(x_BTF, valid, *options_.normalize == "per_feature");
    x_BTF = (x_BTF - m.mean).div_(m.deviation);
  }
  x_BTF = x_BTF.masked_fill(valid.logical_not(), options_.pad_value);
  if (options_.pad_to == 0) return x_BTF;
  const int64_t missing = (options_.pad_to - x_BTF.size(1) % options_.pad_to) % options_.pad_to;
  return at::constant_pad_nd(x_BTF, {0, 0, 0, missing}, options_.pad_value);
}

// ---- live audio --------------------------------------------------------------------------------

MelStream::~MelStream() = default;

/// Buffers the samples that the next frame needs.
class OpenMelStream final : public MelStream {
 public:
  OpenMelStream(const MelFrontEnd& front_end, int64_t batch_size)
      : front_end_(front_end),
        options_(front_end.options_),
        window_(centered_window(front_end.window_, options_.fft_size())),
        pending_BS_(at::zeros({batch_size, options_.fft_size() / 2}, window_.options())),
        last_B1_(at::zeros({batch_size, 1}, window_.options())) {}

  at::Tensor push(const at::Tensor& audio_BS) override {
    const c10::NoGradGuard no_grad;
    const at::Tensor audio = audio_BS.to(window_.options());
    if (audio.size(1) > 0) append(audio);
    // A frame is complete once the end of its window has arrived and it counts as valid.
    const int64_t reach =
        (options_.fft_size() - options_.window_samples()) / 2 + options_.window_samples();
    const int64_t whole = pending_BS_.size(1) < reach
                              ? 0
                              : (pending_BS_.size(1) - reach) / options_.hop_samples() + 1;
    return take(std::min(whole, front_end_.frames(num_samples_) - num_frames_));
  }

  at::Tensor finish() override {
    const c10::NoGradGuard no_grad;
    return take(front_end_.frames(num_samples_) - num_frames_);
  }

 private:
  void append(const at::Tensor& audio_BS) {
    at::Tensor x_BS = audio_BS;
    if (options_.preemph) {
      const at::Tensor before = at::cat({last_B1_, audio_BS.narrow(1, 0, audio_BS.size(1) - 1)}, 1);
      x_BS = emphasized(audio_BS, before, *options_.preemph);
    }
    last_B1_ = audio_BS.narrow(1, audio_BS.size(1) - 1, 1).clone();
    pending_BS_ = at::cat({pending_BS_, x_BS}, 1);
    num_samples_ += audio_BS.size(1);
  }

  at::Tensor take(int64_t count) {
    const int64_t batch = pending_BS_.size(0), hop = options_.hop_samples();
    if (count < 1) return at::zeros({batch, 0, options_.features}, window_.options());
    const int64_t needed = (count - 1) * hop + options_.fft_size();
    const int64_t missing = std::max<int64_t>(0, needed - pending_BS_.size(1));
    const at::Tensor extended = at::constant_pad_nd(pending_BS_, {0, missing}).narrow(1, 0, needed);
    const at::Tensor power = power_of_frames(extended, window_, hop);
    const int64_t used = std::min(count * hop, pending_BS_.size(1));
    pending_BS_ = pending_BS_.narrow(1, used, pending_BS_.size(1) - used).clone();
    num_frames_ += count;
    return front_end_.compress(front_end_.mel_of(power));
  }

  const MelFrontEnd& front_end_;
  const MelOptions& options_;
  at::Tensor window_, pending_BS_, last_B1_;
  int64_t num_samples_ = 0, num_frames_ = 0;
};

std::unique_ptr<MelStream> MelFrontEnd::open_stream(int64_t batch_size) const {
  if (!is_none(options_.normalize)) {
    throw encoder_not_streamable(path_ + ".normalize", *options_.normalize, "NA");
  }
  return std::make_unique<OpenMelStream>(*this, batch_size);
}

at::Tensor mel_filterbank(const MelBank& bank) {
  const int64_t num_bins = bank.n_fft / 2 + 1;
  const double rate = static_cast<double>(bank.sample_rate_hz);
  const auto corners = corners_hz(bank, bank.high_hz > 0 ? bank.high_hz : rate / 2);
  at::Tensor weights = at::zeros({bank.num_mels, num_bins}, at::kFloat);
  auto cells = weights.accessor<float, 2>();
  for (int64_t m = 0; m < bank.num_mels; ++m) {
    const auto i = static_cast<size_t>(m);
    const double area = bank.slaney_norm ? 2.0 / (corners[i + 2] - corners[i]) : 1;
    for (int64_t n = 0; n < num_bins; ++n) {
      const double hz = static_cast<double>(n) * (rate / static_cast<double>(bank.n_fft));
      const double rise = (hz - corners[i]) / (corners[i + 1] - corners[i]);
      const double fall = (corners[i + 2] - hz) / (corners[i + 2] - corners[i + 1]);
      // librosa rounds the triangle to float before scaling it.
      const auto triangle = static_cast<float>(std::max(0.0, std::min(rise, fall)));
      cells[m][n] = static_cast<float>(triangle * area);
    }
  }
  return weights;
}

at::Tensor stft_window(const std::string& name, int64_t length, bool periodic) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (name == "hann") return at::hann_window(length, periodic, options);
  if (name == "hamming") return at::hamming_window(length, periodic, options);
  if (name == "blackman") return at::blackman_window(length, periodic, options);
  if (name == "bartlett") return at::bartlett_window(length, periodic, options);
  if (name == "none") return at::ones({length}, options);
  throw bad_encoder_value("window", name, "hann, hamming, blackman, bartlett or none");
}

}  // namespace s2s
