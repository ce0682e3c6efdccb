#pragma once
// Small audio files and manifests for tests.

#include <sndfile.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace s2s::test {

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Sample i of channel c is ((i * (c + 1) + phase) % 1000) / 2000, exact to 16 bits.
inline std::vector<float> ramp(int64_t num_samples, int64_t channels = 1, int64_t phase = 0) {
  std::vector<float> samples;
  for (int64_t i = 0; i < num_samples; ++i) {
    for (int64_t c = 0; c < channels; ++c) {
      samples.push_back(
          std::nearbyint(static_cast<float>((i * (c + 1) + phase) % 1000) / 2000.f * 32768.f) /
          32768.f);
    }
  }
  return samples;
}

inline void write_audio(const std::string& path, int rate_hz, const std::vector<float>& samples,
                        int channels = 1, int format = SF_FORMAT_WAV | SF_FORMAT_PCM_16) {
  SF_INFO info{};
  info.samplerate = rate_hz;
  info.channels = channels;
  info.format = format;
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  if (file == nullptr) throw std::runtime_error(path + ": " + sf_strerror(nullptr));
  std::vector<int16_t> pcm;
  for (const float sample : samples)
    pcm.push_back(static_cast<int16_t>(std::lrint(sample * 32768)));
  sf_writef_short(file, pcm.data(), static_cast<sf_count_t>(pcm.size()) / channels);
  sf_close(file);
}

inline nlohmann::json recording_json(const std::string& file, int rate_hz, double duration_s,
                                     std::vector<int> channels = {0}) {
  return {{"id", file},
          {"sources", {{{"type", "file"}, {"channels", channels}, {"source", file}}}},
          {"sampling_rate", rate_hz},
          {"num_samples", static_cast<int64_t>(std::nearbyint(duration_s * rate_hz))},
          {"duration", duration_s},
          {"channel_ids", channels}};
}

inline nlohmann::json turn_json(const std::string& speaker, double start_s, double duration_s,
                                const std::string& text) {
  return {{"id", speaker + std::to_string(start_s)},
          {"recording_id", "r"},
          {"start", start_s},
          {"duration", duration_s},
          {"channel", 0},
          {"text", text},
          {"speaker", speaker}};
}

/// A cut whose user audio is `source` (16 kHz) and whose agent audio is `target` (22.05 kHz).
inline nlohmann::json cut_json(const std::string& id, double duration_s, const std::string& source,
                               const std::string& target) {
  return {{"id", id},
          {"start", 0.0},
          {"duration", duration_s},
          {"channel", 0},
          {"supervisions",
           {turn_json("user", 0, duration_s / 4, "hi there"),
            turn_json("agent", duration_s / 2, duration_s / 4, "hello you")}},
          {"recording", recording_json(source, 16000, duration_s)},
          {"custom", {{"target_audio", recording_json(target, 22050, duration_s)}}},
          {"type", "MonoCut"}};
}

}  // namespace s2s::test
