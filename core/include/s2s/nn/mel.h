#pragma once
// Mel spectrograms: the filter bank, a plain log-mel, and the front end of speech encoders.
// Shape letters: B batch, S samples, T frames, N frequency bins (n_fft / 2 + 1), F mel bands.

#include <memory>
#include <optional>
#include <string>

#include "s2s/nn/block.h"
#include "s2s/options.h"

namespace s2s {

/// Options of a bank of triangular filters on Slaney's mel scale.
struct MelBank {
  int64_t sample_rate_hz = 16000;
  int64_t n_fft = 512;
  int64_t num_mels = 80;
  double low_hz = 0;
  double high_hz = 0;       // 0: half the sample rate
  bool slaney_norm = true;  // triangles of equal area
};

/// Filter weights, computed in double and rounded to float.
/// Shapes: [F, N]. Source: librosa.filters.mel (htk=False), bit-identical.
at::Tensor mel_filterbank(const MelBank& bank);

/// A window for the STFT.  name: hann, hamming, blackman, bartlett or none (ones).
/// Shapes: [length] float32.   Source: torch.hann_window and its relatives.
at::Tensor stft_window(const std::string& name, int64_t length, bool periodic);

/// Power of a centered short-time Fourier transform; the audio is padded with zeros. If the window
/// is shorter than n_fft, it is centered.
/// Shapes: audio [B, S] float32 -> [B, T, N], T = floor(S / hop) + 1 for even n_fft.
at::Tensor power_spectrogram(const at::Tensor& audio_BS, const at::Tensor& window, int64_t n_fft,
                             int64_t hop_samples);

/// A simple spectrogram: log(mel power + floor).
/// Shapes: audio [B, S], bank [F, N] -> [B, T, F] with n_fft = 2 (N - 1), T as above.
at::Tensor log_mel(const at::Tensor& audio_BS, const at::Tensor& window, const at::Tensor& bank_FN,
                   int64_t hop_samples, double floor);

/// Whisper's features: log10 of mel power, at most 8 below the row's largest, then (x + 4) / 4. The
/// audio is mirrored at its ends and longer than half a window of the STFT. Whisper's window is
/// stft_window("hann", 400, /*periodic=*/true), its bank mel_filterbank({16000, 400, 80 or 128}),
/// its hop 160, and it pads audio with zeros to 30 s first, because the largest value counts.
/// Shapes: audio [B, S], bank [F, N] -> [B, floor(S / hop), F] with n_fft = 2 (N - 1).
/// Source: transformers WhisperFeatureExtractor.
at::Tensor whisper_log_mel(const at::Tensor& audio_BS, const at::Tensor& window,
                           const at::Tensor& bank_FN, int64_t hop_samples = 160);

/// Options of the front end, with NeMo's names and defaults.
struct MelOptions {
  int64_t sample_rate = 16000;
  double window_size = 0.02;
  double window_stride = 0.01;
  std::optional<int64_t> n_window_size;
  std::optional<int64_t> n_window_stride;
  std::string window = "hann";
  std::optional<std::string> normalize = "per_feature";
  std::optional<int64_t> n_fft;
  std::optional<double> preemph = 0.97;
  int64_t features = 64;
  double lowfreq = 0;
  std::optional<double> highfreq;
  bool log = true;
  std::string log_zero_guard_type = "add";
  double log_zero_guard_value = 5.9604644775390625e-08;
  double dither = 1e-5;
  int64_t pad_to = 16;
  int64_t frame_splicing = 1;
  bool exact_pad = false;
  double pad_value = 0;
  double mag_power = 2;
  double nb_augmentation_prob = 0;
  int64_t nb_max_freq = 4000;
  std::optional<std::string> mel_norm = "slaney";

  void visit(OptionVisitor& v);
  /// Sizes in samples.
  int64_t window_samples() const;
  int64_t hop_samples() const;
  int64_t fft_size() const;
  /// Errors: [encoder/unsupported], [encoder/value]; `path` names the options in the config.
  void check(const std::string& path) const;
};

/// The front end in streaming mode. Its frames equal the offline frames.
class MelStream {
 public:
  virtual ~MelStream();
  /// audio [B, S] -> features of the frames that are now complete, [B, T', F].
  virtual at::Tensor push(const at::Tensor& audio_BS) = 0;
  virtual at::Tensor finish() = 0;
};

/// Computes normalized log-mel features. Dither is accepted and ignored: NeMo's speech language
/// models train with the front end in eval mode. Carries no gradient.
class MelFrontEnd : public Block {
 public:
  /// stored: checkpoints hold the buffers.  Errors: those of MelOptions::check.
  explicit MelFrontEnd(MelOptions options, const std::string& path = "preprocessor",
                       bool stored = true);
  ~MelFrontEnd() override;

  /// Number of valid frames of `num_samples` samples: floor(n / hop).
  int64_t frames(int64_t num_samples) const;
  at::Tensor frames(const at::Tensor& lengths_B) const;
  /// Width T' of the features of a batch that is `num_samples` wide: one frame more than the valid
  /// frames, rounded up to `pad_to`.
  int64_t width(int64_t num_samples) const;

  /// Pre-emphasis (zero beyond each row's length) and mel power. [B, S] -> [B, T, F].
  at::Tensor mel_power(const at::Tensor& audio_BS, const at::Tensor& lengths_B) const;
  /// Logarithm, normalization over valid frames, zeros beyond them, padding. [B, T, F] -> [B, T',
  /// F].
  at::Tensor features(const at::Tensor& power_BTF, const at::Tensor& frames_B) const;
  at::Tensor forward(const at::Tensor& audio_BS, const at::Tensor& lengths_B) const {
    return features(mel_power(audio_BS, lengths_B), frames(lengths_B));
  }
  /// Errors: [encoder/not-streamable] when features are normalized over the whole utterance.
  std::unique_ptr<MelStream> open_stream(int64_t batch_size) const;
  const MelOptions& options() const { return options_; }

 protected:
  void reset_buffers() override;

 private:
  friend class OpenMelStream;
  at::Tensor mel_of(const at::Tensor& power_BTN) const;
  at::Tensor compress(const at::Tensor& power_BTF) const;

  MelOptions options_;
  std::string path_;
  at::Tensor window_, bank_1FN_;
};

}  // namespace s2s
