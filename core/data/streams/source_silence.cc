#include "streams/source_silence.h"

#include <ATen/ATen.h>

#include "audio/encode_audio.h"

namespace s2s::data {

std::shared_ptr<const std::string> silent_audio(int64_t num_samples, int64_t sample_rate_hz) {
  const at::Tensor silence_S = at::zeros({num_samples}, at::kFloat);
  return std::make_shared<const std::string>(encode_audio(silence_S, sample_rate_hz, "flac"));
}

}  // namespace s2s::data
