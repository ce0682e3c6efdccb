#pragma once
// Encodes audio with the libsndfile settings that Lhotse uses.
// Shape letters: C channels, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace s2s::data {

/// Returns the bytes of an audio file. audio [C, S] or [S] float32 is clipped to [-1, 1] if the
/// format has integers. `format` is wav (16 bit), wav_float, flac (16 bit), mp3, ogg (Vorbis),
/// opus, or another of libsndfile's formats by its name. `compression` is from 0 (best) to 1
/// (smallest), for lossy formats. Opus supports 8, 12, 16, 24 and 48 kHz; see `rate_to_encode`.
/// Errors: [data/audio-format] for an unknown format and for rates and channels that it does not
/// support.
/// Source: lhotse save_audio (LibsndfileBackend), with which AudioTarWriter writes Shar.
std::string encode_audio(const at::Tensor& audio_CS, int64_t sample_rate_hz,
                         const std::string& format, std::optional<double> compression = {});

/// Returns the rate at which Lhotse's Shar writer encodes: 48 kHz for opus (it resamples
/// recordings, and their manifests say so), and the given rate for other formats.
int64_t rate_to_encode(const std::string& format, int64_t sample_rate_hz);

}  // namespace s2s::data
