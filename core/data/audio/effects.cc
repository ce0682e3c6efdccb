#include "audio/effects.h"

#include <ATen/ATen.h>

#include <cmath>
#include <stdexcept>

#include "audio/audio_errors.h"
#include "audio/audio_reader.h"
#include "audio/encode_audio.h"

namespace s2s::data {
namespace {

constexpr double kResponseScale = 1.0 / 32768;

/// Returns the next number whose only prime factors are 2, 3 and 5.
int64_t fast_length(int64_t length) {
  for (;; ++length) {
    int64_t rest = length;
    for (const int64_t factor : {2, 3, 5}) {
      while (rest % factor == 0) rest /= factor;
    }
    if (rest == 1) return length;
  }
}

double power(const at::Tensor& samples_S) {
  return samples_S.square().sum().item<double>() / static_cast<double>(samples_S.numel());
}

}  // namespace

at::Tensor convolve(const at::Tensor& audio_S, const at::Tensor& response_N) {
  const int64_t full = audio_S.size(0) + response_N.size(0) - 1, padded = fast_length(full);
  const at::Tensor spectrum = at::fft_rfft(audio_S, padded) * at::fft_rfft(response_N, padded);
  return at::fft_irfft(spectrum, padded).slice(0, 0, full);
}

at::Tensor change_volume(const at::Tensor& audio_CS, double factor) { return audio_CS * factor; }

at::Tensor clip_amplitude(const at::Tensor& audio_CS, const ClippingOptions& options) {
  const auto peak = audio_CS.abs().max().item<float>();
  if (peak == 0 || 20 * std::log10(peak) < -96) return audio_CS;
  const double gain = std::fabs(options.gain_db) >= 0.1 ? std::pow(10.0, options.gain_db / 20) : 1;
  at::Tensor samples_CS = options.normalize ? audio_CS / peak : audio_CS;
  samples_CS = samples_CS * gain;
  samples_CS = options.hard ? samples_CS.clamp_(-1, 1) : samples_CS.tanh_();
  samples_CS.div_(gain);
  return options.normalize ? samples_CS.mul_(peak) : samples_CS;
}

at::Tensor reverberate(const at::Tensor& audio_CS, const at::Tensor& response_RN, bool keep_power) {
  const int64_t channels = audio_CS.size(0), responses = response_RN.size(0);
  const int64_t length = audio_CS.size(1);
  if (channels > 1 && responses > 1 && channels != responses) {
    throw std::runtime_error("audio of " + std::to_string(channels) +
                             " channels and an impulse response of " + std::to_string(responses));
  }
  std::vector<at::Tensor> rows;
  for (int64_t c = 0; c < std::max(channels, responses); ++c) {
    const at::Tensor dry_S = audio_CS[channels == 1 ? 0 : c];
    const at::Tensor response_N = response_RN[responses == 1 ? 0 : c] * kResponseScale;
    const at::Tensor wet = convolve(dry_S, response_N);
    at::Tensor wet_S = wet.narrow(0, response_N.argmax().item<int64_t>(), length);
    const double after = keep_power ? power(wet_S) : 0;
    rows.push_back(after > 0 ? wet_S * std::sqrt(power(dry_S) / after) : wet_S);
  }
  return at::stack(rows);
}

// Every operation is torchaudio's, in float.
at::Tensor through_mu_law(const at::Tensor& audio_CS) {
  const at::Tensor mu = at::full({}, 255.0F), log_mu = at::log1p(mu);
  const at::Tensor companded = at::sign(audio_CS) * at::log1p(mu * at::abs(audio_CS)) / log_mu;
  const at::Tensor codes = ((companded + 1) / 2 * mu + 0.5).to(at::kLong);
  const at::Tensor x = codes.to(at::kFloat) / mu * 2 - 1.0;
  return at::sign(x) * (at::exp(at::abs(x) * log_mu) - 1.0) / mu;
}

at::Tensor through_codec(const at::Tensor& audio_CS, int64_t sample_rate_hz,
                         const std::string& codec, double level) {
  const bool is_gsm = codec == "gsm";
  auto bytes = std::make_shared<const std::string>(
      is_gsm ? encode_audio(audio_CS, 8000, codec)
             : encode_audio(audio_CS, sample_rate_hz, codec == "vorbis" ? "ogg" : codec, level));
  return AudioReader(std::move(bytes), is_gsm).read();
}

}  // namespace s2s::data
