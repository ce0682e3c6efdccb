// Any bytes as an audio file in memory: refused with a reason, or a description whose numbers can
// be computed with and a stretch of samples of the shape that it promises.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "audio/audio_reader.h"

namespace {

void expect(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kStretch = 4000;
  const auto bytes = std::make_shared<const std::string>(reinterpret_cast<const char*>(data), size);
  try {
    s2s::data::AudioReader reader(bytes);
    const s2s::data::AudioInfo& info = reader.info();
    expect(info.sample_rate_hz > 0 && info.num_channels > 0 && info.num_samples >= 0);
    expect(info.duration_s() >= 0);
    const at::Tensor begin_CS = reader.read(0, kStretch);
    expect(begin_CS.size(0) == info.num_channels && begin_CS.size(1) <= kStretch);
    reader.read(info.num_samples - 1, kStretch);
  } catch (const std::runtime_error&) {  // the reason; whoever calls adds the place
  }
  return 0;
}
