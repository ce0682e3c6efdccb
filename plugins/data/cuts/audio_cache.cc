#include "audio_cache.h"

#include <ATen/ATen.h>

namespace s2s::cuts {
namespace {

constexpr float kScale = 32768;

at::Tensor packed(const at::Tensor& samples_S) {
  const at::Tensor scaled_S = samples_S * kScale;
  const at::Tensor short_S = scaled_S.to(at::kShort);
  return at::equal(short_S.to(at::kFloat), scaled_S) ? short_S : samples_S.clone();
}

at::Tensor unpacked(const at::Tensor& samples_S) {
  return samples_S.scalar_type() == at::kShort ? samples_S.to(at::kFloat).div_(kScale) : samples_S;
}

}  // namespace

at::Tensor AudioCache::get(Clips& clips, const std::string& id, const Load& load) {
  {
    const std::lock_guard lock(clips.mutex);
    const auto it = clips.by_id.find(id);
    if (it != clips.by_id.end()) return unpacked(it->second);
  }
  const at::Tensor samples_S = load();
  at::Tensor kept_S = packed(samples_S);
  const std::lock_guard lock(clips.mutex);
  clips.by_id.emplace(id, std::move(kept_S));
  return samples_S;
}

at::Tensor AudioCache::source(const Cut& cut, int64_t sample_rate_hz) {
  return get(sources_, cut.id, [&] { return AudioLoader::source(cut, sample_rate_hz); });
}

at::Tensor AudioCache::target(const Cut& cut, int64_t sample_rate_hz) {
  return get(targets_, cut.id, [&] { return AudioLoader::target(cut, sample_rate_hz); });
}

}  // namespace s2s::cuts
