#pragma once
// What operations on cuts ask of them, and Lhotse's arithmetic of durations.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// The sum in whole samples, in seconds. Source: lhotse utils.py add_durations.
double add_durations(std::initializer_list<double> durations_s, int64_t sample_rate_hz);
/// Source: lhotse utils.py perturb_num_samples.
int64_t perturb_num_samples(int64_t num_samples, double factor);
/// Python's math.isclose.
bool is_close(double a, double b);

bool has_features(const Cut& cut);
bool has_recording(const Cut& cut);
std::optional<double> frame_shift_s(const Cut& cut);
std::optional<int64_t> num_features(const Cut& cut);
/// Nothing when there are no features.
std::optional<int64_t> num_frames(const Cut& cut);
/// Nothing when there is no recording.
std::optional<int64_t> num_samples(const Cut& cut);
/// The rate. Errors: [data/cut-operation] when there is none.
int64_t rate_for(const Cut& cut, const char* operation);

/// An id that follows from `id`, the operation and its numbers, in the form of a UUID.
std::string derived_id(const std::string& id, std::string_view operation,
                       std::initializer_list<double> numbers = {});

}  // namespace s2s::data
