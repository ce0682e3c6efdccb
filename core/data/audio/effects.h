#pragma once
// The operations of Lhotse's transforms on samples. All take and return float32, and run on the
// calling thread.
// Shape letters: C channels, S samples, R channels of an impulse response, N its samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace s2s::data {

/// Multiplies every sample by `factor`.   Source: lhotse Volume.
at::Tensor change_volume(const at::Tensor& audio_CS, double factor);

struct ClippingOptions {
  bool hard = false;      // clips at 1; otherwise tanh
  double gain_db = 0;     // applied before and removed afterwards
  bool normalize = true;  // scales to a peak of 1 before, and back afterwards
};
/// Saturates the audio. Audio below -96 dB is unchanged.   Source: lhotse Clipping.
at::Tensor clip_amplitude(const at::Tensor& audio_CS, const ClippingOptions& options);

/// Returns the loudness of ITU-R BS.1770-4 in LUFS, -infinity for silence. At most five channels
/// (left, right, center, surround left and right). `block_s` is the length of the gating blocks;
/// the standard has 0.4.
/// Source: pyloudnorm 0.2 Meter("K-weighting").
double measure_loudness(const at::Tensor& audio_CS, int64_t sample_rate_hz, double block_s);
/// Applies one gain to all channels so that the loudness is `target_lufs`. Silence is unchanged
/// (lhotse returns NaN).
/// Errors: std::runtime_error for more than five channels.
/// Source: lhotse normalize_loudness.
at::Tensor normalize_loudness(const at::Tensor& audio_CS, double target_lufs,
                              int64_t sample_rate_hz);

/// Convolves each channel with the same channel of the response, or with its only one. A mono
/// signal gets as many channels as the response has. The result is shifted so that the response's
/// peak is at 0, and cut to S samples. With `keep_power` it is scaled to the power of the input.
/// Errors: std::runtime_error when the channels do not match.
/// Shapes: [C, S], [R, N] -> [C or R, S].   Source: lhotse ReverbWithImpulseResponse.
at::Tensor reverberate(const at::Tensor& audio_CS, const at::Tensor& response_RN, bool keep_power);

/// Returns the full convolution.
/// Shapes: [S], [N] -> [S + N - 1].   Source: scipy.signal.fftconvolve (mode full).
at::Tensor convolve(const at::Tensor& audio_S, const at::Tensor& response_N);

/// A Butterworth low-pass filter, computed in double.
/// Source: scipy.signal.butter (btype low, digital) and lfilter.
at::Tensor low_pass(const at::Tensor& audio_S, double cutoff_hz, int64_t sample_rate_hz,
                    int64_t order);

/// Encodes with 8 bits of mu-law companding and decodes.   Source: lhotse MuLawCodec.
at::Tensor through_mu_law(const at::Tensor& audio_CS);

/// Encodes with "opus", "mp3", "vorbis" or "gsm" (always as 8 kHz mono) and decodes. `level` is
/// from 0 (best) to 1. The length may change.
/// Errors: [data/audio-format].   Source: lhotse Compress.
at::Tensor through_codec(const at::Tensor& audio_CS, int64_t sample_rate_hz,
                         const std::string& codec, double level);

}  // namespace s2s::data
