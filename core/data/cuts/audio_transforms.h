#pragma once
// Lhotse's transforms of recordings and mixes, in the form in which manifests store them.
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

/// A part of a recording. Without a duration it goes to the end.
struct Stretch {
  double offset_s = 0;
  std::optional<double> duration_s = {};
};

/// Returns the part of the untransformed recording from which `wanted`, a part of the transformed
/// one, is computed. `sample_rate_hz` is the recording's rate after all transforms, which lhotse
/// uses for each of them. `place` is "file:line: cut 'id'".
/// Errors: [data/transforms] for an unknown name or wrong arguments.
/// Source: lhotse reverse_timestamps.
Stretch stretch_before(const std::vector<AudioTransform>& transforms, const Stretch& wanted,
                       int64_t sample_rate_hz, const std::string& place);

/// Returns the rate of the untransformed recording. Errors: as stretch_before.
int64_t rate_before(const std::vector<AudioTransform>& transforms, int64_t sample_rate_hz,
                    const std::string& place);

struct TransformContext {
  int64_t sample_rate_hz = 0;  // of the recording, after all transforms
  std::string place;
  uint64_t seed = 0;  // for simulated rooms whose manifest has no seed
  ResamplerBank& resamplers;
  /// Loads a recording or cut that a transform contains: [R, N], only the given channels, and at
  /// most the given length.
  std::function<at::Tensor(const nlohmann::json& manifest, const std::vector<int64_t>& channels,
                           std::optional<double> duration_s)>
      load_response;
};

/// Applies all transforms in their order.
/// Errors: [data/transforms], also for transforms that are not supported (DereverbWPE, Narrowband
/// with lpc10); [data/audio-format].
/// Source: lhotse augmentation/*.py __call__.
at::Tensor apply_transforms(const std::vector<AudioTransform>& transforms, at::Tensor audio_CS,
                            const TransformContext& context);

/// Returns the recording with one more transform that resamples it, as lhotse's Recording.resample.
Recording resampled(const Recording& recording, int64_t sample_rate_hz);

}  // namespace s2s::data
