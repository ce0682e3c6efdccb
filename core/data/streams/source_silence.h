#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace s2s::data {

/// Encoded silence, a few bytes for each second. Thread-safe.
std::shared_ptr<const std::string> silent_audio(int64_t num_samples, int64_t sample_rate_hz);

}  // namespace s2s::data
