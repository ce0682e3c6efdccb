#pragma once

#include "cuts/cut_operations.h"

namespace s2s::data {

/// Lhotse's ReverbWithImpulseResponse; without a room impulse response one is made at
/// `sample_rate_hz` from the seeds.
AudioTransform reverb_transform(const ReverbOptions& options, int64_t sample_rate_hz);

}  // namespace s2s::data
