#include "loader/audio_cache.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace s2s::data {
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

/// Names what the samples depend on. The id is not enough, because a recording may be changed at
/// random.
std::string name_of(const Cut& cut, const Recording& recording) {
  std::string name = fmt::format("{} {} {} {} {}", cut.id, recording.id, cut.start_s,
                                 cut.duration_s, recording.sample_rate_hz);
  for (const AudioTransform& transform : recording.transforms) {
    name += " " + transform.name + transform.kwargs.text;
  }
  return name;
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
  const auto load = [&] { return AudioLoader::source(cut, sample_rate_hz); };
  if (!cut.recording) return load();
  return get(sources_, name_of(cut, *cut.recording), load);
}

at::Tensor AudioCache::target(const Cut& cut, int64_t sample_rate_hz) {
  const auto load = [&] { return AudioLoader::target(cut, sample_rate_hz); };
  const Recording* target = cut.find_recording("target_audio");
  if (target == nullptr || cut.kind != Cut::Kind::kMono) return load();
  return get(targets_, name_of(cut, *target), load);
}

}  // namespace s2s::data
