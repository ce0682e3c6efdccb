#include "spectral_losses.h"

#include <ATen/ATen.h>

#include "s2s/nn/mel.h"

namespace s2s::codec {
namespace {

constexpr double kSquareGuard = 1e-5;  // as in NeMo; a root has no gradient at 0
constexpr double kQuietest = 1e-5;     // as in DAC

/// Magnitudes [B, N, T].
at::Tensor magnitudes(const at::Tensor& spectrum_BNT) {
  return (at::view_as_real(spectrum_BNT).square().sum(-1) + kSquareGuard).sqrt();
}

/// The mel magnitudes [B, F, T] of as many frames as hops fit in the audio.
at::Tensor mel_magnitudes(const at::Tensor& audio_BS, const at::Tensor& window,
                          const at::Tensor& bank_FN) {
  const at::Tensor mel_BFT =
      at::matmul(bank_FN, magnitudes(spectrum(audio_BS, window, /*mirrors=*/false)));
  return mel_BFT.narrow(2, 0, audio_BS.size(1) / (window.size(0) / 4));
}

at::Tensor mean_of_row(const at::Tensor& x) { return x.flatten(1).mean(1); }

at::Tensor sum_of(const at::Tensor& sum, const at::Tensor& term) {
  return sum.defined() ? sum + term : term;
}

}  // namespace

at::Tensor spectrum(const at::Tensor& audio_BS, const at::Tensor& window, bool mirrors,
                    bool normalized) {
  const int64_t n_fft = window.size(0);
  return at::stft(audio_BS, n_fft, n_fft / 4, n_fft, window, /*center=*/true,
                  mirrors ? "reflect" : "constant", normalized, /*onesided=*/true,
                  /*return_complex=*/true);
}

SpectralLoss::SpectralLoss(const CodecOptions& options)
    : options_(options),
      windows_(options.window_lengths.size()),
      banks_FN_(options.window_lengths.size()) {
  for (size_t i = 0; i < windows_.size(); ++i) {
    register_buffer("windows." + std::to_string(i), windows_[i], /*persistent=*/false);
    register_buffer("banks." + std::to_string(i), banks_FN_[i], /*persistent=*/false);
  }
  SpectralLoss::reset_buffers();
}

SpectralLoss::~SpectralLoss() = default;

void SpectralLoss::reset_buffers() {
  for (size_t i = 0; i < windows_.size(); ++i) {
    const int64_t length = options_.window_lengths[i];
    windows_[i] = stft_window("hann", length, /*periodic=*/false);
    banks_FN_[i] = mel_filterbank({.sample_rate_hz = options_.rate_hz(),
                                   .n_fft = length,
                                   .num_mels = options_.mel_loss_dims[i],
                                   .slaney_norm = false});
  }
}

SpectralLosses SpectralLoss::operator()(const at::Tensor& real_BS,
                                        const at::Tensor& decoded_BS) const {
  SpectralLosses sums;
  for (size_t i = 0; i < windows_.size(); ++i) {
    const auto log_mel = [&](const at::Tensor& audio_BS) {
      return (mel_magnitudes(audio_BS, windows_[i], banks_FN_[i]) + options_.mel_loss_log_guard)
          .log();
    };
    const auto log_magnitudes = [&](const at::Tensor& audio_BS) {
      return (magnitudes(spectrum(audio_BS, windows_[i], /*mirrors=*/true)) +
              options_.stft_loss_log_guard)
          .log();
    };
    if (options_.mel_loss_l1_scale > 0 || options_.mel_loss_l2_scale > 0) {
      const at::Tensor off_BFT = log_mel(real_BS) - log_mel(decoded_BS);
      sums.mel_l1_B = sum_of(sums.mel_l1_B, mean_of_row(off_BFT.abs()));
      sums.mel_l2_B = sum_of(sums.mel_l2_B, mean_of_row(off_BFT.square()));
    }
    if (options_.stft_loss_scale > 0) {
      sums.stft_B = sum_of(
          sums.stft_B, mean_of_row((log_magnitudes(real_BS) - log_magnitudes(decoded_BS)).abs()));
    }
  }
  for (at::Tensor* sum : {&sums.mel_l1_B, &sums.mel_l2_B, &sums.stft_B}) {
    if (sum->defined()) *sum = *sum / static_cast<double>(windows_.size());
  }
  sums.time_B = mean_of_row((real_BS - decoded_BS).abs());
  return sums;
}

at::Tensor SpectralLoss::mel_distance(const at::Tensor& real_BS,
                                      const at::Tensor& decoded_BS) const {
  at::Tensor sum_B;
  for (size_t i = 0; i < windows_.size(); ++i) {
    const auto log_mel = [&](const at::Tensor& audio_BS) {
      return mel_magnitudes(audio_BS, windows_[i], banks_FN_[i]).clamp_min(kQuietest).log10();
    };
    sum_B = sum_of(sum_B, mean_of_row((log_mel(real_BS) - log_mel(decoded_BS)).abs()));
  }
  return sum_B / static_cast<double>(windows_.size());
}

}  // namespace s2s::codec
