#include "streams/source_silence.h"

#include <ATen/ATen.h>

#include "audio/encode_audio.h"

namespace s2s::data {

Recording silent_recording(const std::string& id, int64_t num_samples, int64_t sample_rate_hz) {
  const at::Tensor silence_S = at::zeros({num_samples}, at::kFloat);
  AudioSource source;
  source.type = AudioSource::Type::kMemory;
  source.channels = {0};
  source.bytes =
      std::make_shared<const std::string>(encode_audio(silence_S, sample_rate_hz, "flac"));
  Recording recording;
  recording.id = id;
  recording.sources = {std::move(source)};
  recording.sample_rate_hz = sample_rate_hz;
  recording.num_samples = num_samples;
  recording.duration_s = static_cast<double>(num_samples) / static_cast<double>(sample_rate_hz);
  recording.channel_ids = {0};
  return recording;
}

}  // namespace s2s::data
