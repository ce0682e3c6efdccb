#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "s2s/nn/mel.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/speech_encoder.h"

namespace s2s {
namespace {

constexpr double kHighestHz = 8000;  // whatever the sample rate
constexpr int64_t kStemTaps = 3;     // of both convolutions

ConvSpec stem_conv(int64_t inputs, int64_t outputs, int64_t stride) {
  return {.inputs = inputs,
          .outputs = outputs,
          .kernel = kStemTaps,
          .stride = stride,
          .left = 1,
          .right = 1,
          .form = {.trains = true},
          .name = ""};
}

}  // namespace

int64_t rounded_up(int64_t n, int64_t size) { return (n + size - 1) / size; }
at::Tensor rounded_up(const at::Tensor& n, int64_t size) {
  return at::floor_divide(n.to(at::kLong) + (size - 1), size);
}

WhisperFeatures::WhisperFeatures(const Sizes& sizes) : sizes_(sizes) {
  register_buffer("window", window_, /*persistent=*/false);
  register_buffer("bank", bank_FN_, /*persistent=*/false);
}

WhisperFeatures::~WhisperFeatures() = default;

void WhisperFeatures::reset_buffers() {
  window_ = stft_window("hann", sizes_.n_fft, /*periodic=*/true);
  MelBank bank{sizes_.sample_rate_hz, sizes_.n_fft, sizes_.num_mels};
  bank.high_hz = kHighestHz;
  bank_FN_ = mel_filterbank(bank);
}

int64_t WhisperFeatures::num_windows(int64_t num_samples, int64_t window_frames) const {
  return std::max<int64_t>(rounded_up(num_samples, window_frames * sizes_.hop_samples), 1);
}

int64_t WhisperFeatures::frames(int64_t num_samples) const {
  return rounded_up(std::max<int64_t>(num_samples, 0), sizes_.hop_samples);
}

at::Tensor WhisperFeatures::frames(const at::Tensor& lengths_B) const {
  return rounded_up(lengths_B, sizes_.hop_samples);
}

at::Tensor WhisperFeatures::operator()(const at::Tensor& audio_BS,
                                       const at::Tensor& lengths_B) const {
  const at::NoGradGuard no_grad;
  const at::Tensor valid_BS =
      zero_beyond(audio_BS.to(at::kFloat), lengths_B.to(audio_BS.device()), 1);
  return whisper_log_mel(valid_BS, window_, bank_FN_, sizes_.hop_samples).transpose(1, 2);
}

at::Tensor WhisperFeatures::windows(const at::Tensor& audio_BS, const at::Tensor& lengths_B,
                                    int64_t window_frames) const {
  const at::NoGradGuard no_grad;
  const int64_t rows = audio_BS.size(0), window = window_frames * sizes_.hop_samples;
  const int64_t count = num_windows(audio_BS.size(1), window_frames);
  const at::Tensor valid_BS =
      zero_beyond(audio_BS.to(at::kFloat), lengths_B.to(audio_BS.device()), 1);
  const at::Tensor whole_BS = at::constant_pad_nd(valid_BS, {0, count * window - audio_BS.size(1)});
  const at::Tensor mel_NMF = whisper_log_mel(whole_BS.reshape({rows * count, window}), window_,
                                             bank_FN_, sizes_.hop_samples);
  return mel_NMF.reshape({rows, count * window_frames, sizes_.num_mels}).transpose(1, 2);
}

WhisperStem::WhisperStem(int64_t num_mels, int64_t width)
    : num_mels_(num_mels),
      width_(width),
      conv1_(stem_conv(num_mels, width, 1)),
      conv2_(stem_conv(width, width, 2)) {
  register_block("conv1", conv1_);
  register_block("conv2", conv2_);
}

WhisperStem::~WhisperStem() = default;

at::Tensor WhisperStem::forward(const at::Tensor& mel_NFM) {
  return at::gelu(conv2_(at::gelu(conv1_(mel_NFM)))).transpose(1, 2);
}

double WhisperStem::flops(int64_t num_frames) const {
  const auto width = static_cast<double>(width_);
  const double inputs = 2 * static_cast<double>(num_mels_) + width;
  return 2 * static_cast<double>(kStemTaps * num_frames) * width * inputs;
}

}  // namespace s2s
