#pragma once
// Numbers of cuts that operations need, and Lhotse's arithmetic of durations.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// Adds durations in whole samples; returns seconds. Source: lhotse utils.py add_durations.
double add_durations(std::initializer_list<double> durations_s, int64_t sample_rate_hz);
/// Source: lhotse utils.py perturb_num_samples.
int64_t perturb_num_samples(int64_t num_samples, double factor);
/// Python's math.isclose.
bool is_close(double a, double b);

bool has_features(const Cut& cut);
bool has_recording(const Cut& cut);
std::optional<double> frame_shift_s(const Cut& cut);
std::optional<int64_t> num_features(const Cut& cut);
/// Returns nothing if there are no features.
std::optional<int64_t> num_frames(const Cut& cut);
/// Returns nothing if there is no recording.
std::optional<int64_t> num_samples(const Cut& cut);
/// Returns the sampling rate. Errors: [data/cut-operation] when there is none.
int64_t rate_for(const Cut& cut, const char* operation);

/// Derives a new id from `id`, the operation and its numbers. It has the form of a UUID.
std::string derived_id(const std::string& id, std::string_view operation,
                       std::initializer_list<double> numbers = {});

}  // namespace s2s::data
