#pragma once
// Lhotse's transforms of recordings and mixes, as their manifests write them.
// Shape letters: C channels, S samples.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "audio/resampler_bank.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

/// A part of a recording; to its end when there is no duration.
struct Stretch {
  double offset_s = 0;
  std::optional<double> duration_s = {};
};

/// The part of the untransformed recording that `wanted` of the transformed one comes from.
/// `sample_rate_hz`: the recording's, after all transforms, as lhotse takes it for each of them.
/// Errors: [data/transforms] for an unknown name or arguments that are wrong; `place` is
/// "file:line: cut 'id'". Source: lhotse reverse_timestamps.
Stretch stretch_before(const std::vector<AudioTransform>& transforms, const Stretch& wanted,
                       int64_t sample_rate_hz, const std::string& place);

/// The rate of the untransformed recording. Errors: as stretch_before.
int64_t rate_before(const std::vector<AudioTransform>& transforms, int64_t sample_rate_hz,
                    const std::string& place);

struct TransformContext {
  int64_t sample_rate_hz = 0;  // of the recording, after all transforms
  std::string place;
  uint64_t seed = 0;  // of made-up rooms whose manifest names none
  ResamplerBank& resamplers;
  /// [R, N] of a recording or cut written inside the transform: these channels, at most so long.
  std::function<at::Tensor(const nlohmann::json& manifest, const std::vector<int64_t>& channels,
                           std::optional<double> duration_s)>
      load_response;
};

/// All transforms in their order. Errors: [data/transforms], also for those that are not supported
/// (DereverbWPE, Narrowband with lpc10); [data/audio-format].
/// Source: lhotse augmentation/*.py __call__.
at::Tensor apply_transforms(const std::vector<AudioTransform>& transforms, at::Tensor audio_CS,
                            const TransformContext& context);

/// The recording at another rate, as lhotse's Recording.resample: one more transform.
Recording resampled(const Recording& recording, int64_t sample_rate_hz);

}  // namespace s2s::data
