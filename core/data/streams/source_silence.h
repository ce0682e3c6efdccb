#pragma once
// Silence in place of recordings.

#include <cstdint>
#include <string>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// A mono recording of silence in memory; it takes a few bytes per second. Thread-safe.
Recording silent_recording(const std::string& id, int64_t num_samples, int64_t sample_rate_hz);

}  // namespace s2s::data
