#pragma once
// Encodes audio with the libsndfile settings that Lhotse uses.
// Shape letters: C channels, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace s2s::data {

/// The bytes of an audio file. audio [C, S] or [S] float32, clipped to [-1, 1] where the format has
/// integers. `format`: wav (16 bit), wav_float, flac (16 bit), mp3, ogg (Vorbis), opus, and others
/// of libsndfile by their names. `compression` from 0 (best) to 1 (smallest) for lossy formats.
/// Opus knows 8, 12, 16, 24 and 48 kHz; see `rate_to_encode`.
/// Errors: [data/audio-format] for an unknown format and for rates and channels it does not take.
/// Source: lhotse save_audio (LibsndfileBackend), which AudioTarWriter writes Shar with.
std::string encode_audio(const at::Tensor& audio_CS, int64_t sample_rate_hz,
                         const std::string& format, std::optional<double> compression = {});

/// The rate that Lhotse's Shar writer encodes at: 48 kHz for opus (it resamples recordings, and
/// their manifests say so), the given rate for other formats.
int64_t rate_to_encode(const std::string& format, int64_t sample_rate_hz);

}  // namespace s2s::data
