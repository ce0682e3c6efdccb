#pragma once
// What Lhotse's transforms do to samples. All take and give float32 and run on the calling thread.
// Shape letters: C channels, S samples, R channels of an impulse response, N its samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace s2s::data {

/// Every sample times `factor`.   Source: lhotse Volume.
at::Tensor change_volume(const at::Tensor& audio_CS, double factor);

struct ClippingOptions {
  bool hard = false;      // cut off at 1; otherwise tanh
  double gain_db = 0;     // before, and taken back afterwards
  bool normalize = true;  // to a peak of 1 before, and back afterwards
};
/// Saturates; what is below -96 dB stays as it is.   Source: lhotse Clipping.
at::Tensor clip_amplitude(const at::Tensor& audio_CS, const ClippingOptions& options);

/// Loudness of ITU-R BS.1770-4 in LUFS, -infinity for silence. At most five channels (left, right,
/// center, surround left and right). `block_s`: length of the gating blocks, 0.4 by the standard.
/// Source: pyloudnorm 0.2 Meter("K-weighting").
double measure_loudness(const at::Tensor& audio_CS, int64_t sample_rate_hz, double block_s);
/// One gain for all channels so that the loudness is `target_lufs`. Silence stays silence (lhotse
/// gives NaN).
/// Errors: std::runtime_error for more than five channels.
/// Source: lhotse normalize_loudness.
at::Tensor normalize_loudness(const at::Tensor& audio_CS, double target_lufs,
                              int64_t sample_rate_hz);

/// Each channel through the response's channel (or its only one; a mono signal becomes as many
/// channels as the response has), shifted so that the response's peak is at 0 and cut to S. With
/// `keep_power` scaled to the power that it had.
/// Errors: std::runtime_error when the channels do not fit.
/// Shapes: [C, S], [R, N] -> [C or R, S].   Source: lhotse ReverbWithImpulseResponse.
at::Tensor reverberate(const at::Tensor& audio_CS, const at::Tensor& response_RN, bool keep_power);

/// The whole convolution.
/// Shapes: [S], [N] -> [S + N - 1].   Source: scipy.signal.fftconvolve (mode full).
at::Tensor convolve(const at::Tensor& audio_S, const at::Tensor& response_N);

/// A Butterworth low-pass filter, computed in double.
/// Source: scipy.signal.butter (btype low, digital) and lfilter.
at::Tensor low_pass(const at::Tensor& audio_S, double cutoff_hz, int64_t sample_rate_hz,
                    int64_t order);

/// Encoded with 8 bits of mu-law companding and decoded.   Source: lhotse MuLawCodec.
at::Tensor through_mu_law(const at::Tensor& audio_CS);

/// Encoded with "opus", "mp3", "vorbis" or "gsm" (always as of 8 kHz, mono) and decoded; `level`
/// from 0 (best) to 1. The length may change.
/// Errors: [data/audio-format].   Source: lhotse Compress.
at::Tensor through_codec(const at::Tensor& audio_CS, int64_t sample_rate_hz,
                         const std::string& codec, double level);

}  // namespace s2s::data
