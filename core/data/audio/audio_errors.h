#pragma once
// Errors of audio that a user can cause. Ids are listed in core/docs/reference/errors.md.

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::audio_errors {

// Encoding.
Error unknown_format(const std::string& format, const std::string& known);
Error encoding(const std::string& format, int64_t sample_rate_hz, int64_t num_channels,
               const std::string& reason);

// Audio files given on a command line.
Error missing_wave(const std::string& path);
Error empty_wave(const std::string& path);
Error unreadable_wave(const std::string& path, const std::string& reason);
Error wave_channel(const std::string& path, int64_t channel, int64_t num_channels);
/// The file is longer than `most_s`, or has more samples than an hour can have.
Error long_wave(const std::string& path, double duration_s, int64_t most_s);
Error no_waves(const std::string& folder);
/// Error of standard input in `generate --input -`.
Error piped_audio(const std::string& reason);
Error empty_pipe();

}  // namespace s2s::audio_errors
