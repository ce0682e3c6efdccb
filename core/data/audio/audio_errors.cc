#include "audio/audio_errors.h"

#include <fmt/format.h>

namespace s2s::audio_errors {

Error unknown_format(const std::string& format, const std::string& known) {
  return data_error(
      "data/audio-format",
      fmt::format(
          "audio cannot be written as '{}'; expected one of {}; flac is lossless, opus is smallest",
          format, known));
}

Error encoding(const std::string& format, int64_t sample_rate_hz, int64_t num_channels,
               const std::string& reason) {
  return data_error(
      "data/audio-format",
      fmt::format("audio of {} channels at {} Hz cannot be written as {}: {}; expected a "
                  "rate that the format knows (opus: 8, 12, 16, 24 or 48 kHz; mp3: up "
                  "to 48 kHz, at most two channels); resample first, or choose flac",
                  num_channels, sample_rate_hz, format, reason));
}

Error missing_wave(const std::string& path) {
  return data_error(
      "data/missing-file",
      fmt::format("the audio file '{}' does not exist; expected a recording (WAV, FLAC, "
                  "OGG); check the path",
                  path));
}

Error unreadable_wave(const std::string& path, const std::string& reason) {
  return data_error("data/unreadable-audio",
                    fmt::format("the audio file '{}' cannot be read: {}; expected a complete WAV, "
                                "FLAC or OGG file; convert it, or copy it again",
                                path, reason));
}

Error empty_wave(const std::string& path) {
  return data_error("data/empty-audio",
                    fmt::format("the audio file '{}' has no samples; expected at least "
                                "one; record it again",
                                path));
}

Error wave_channel(const std::string& path, int64_t channel, int64_t num_channels) {
  return data_error("data/channel",
                    fmt::format("the audio file '{}' has no channel {}; expected 0 to {}: see "
                                "--channel",
                                path, channel, num_channels - 1));
}

Error long_wave(const std::string& path, double duration_s, int64_t most_s) {
  return data_error("data/audio-length",
                    fmt::format("the audio file '{}' is {:.0f} s long; expected at most {} s and "
                                "2^28 samples; cut it into parts",
                                path, duration_s, most_s));
}

Error no_waves(const std::string& folder) {
  return data_error("data/no-recording",
                    fmt::format("the folder '{}' has no audio files; expected files such as a.wav, "
                                "a.flac or a.ogg; give audio files or another folder",
                                folder));
}

Error piped_audio(const std::string& reason) {
  return data_error(
      "data/unreadable-audio",
      fmt::format("standard input cannot be read: {}; expected WAV (PCM or float), or raw signed "
                  "16-bit little-endian samples of one channel; convert it on the way: ffmpeg -i "
                  "FILE -f wav - | s2s-run generate --stream --input - ...",
                  reason));
}

Error empty_pipe() {
  return data_error("data/empty-audio",
                    "standard input has no samples; expected at least one; check the program that "
                    "writes to the pipe");
}

}  // namespace s2s::audio_errors
