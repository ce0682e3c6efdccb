#pragma once
// Mistakes in cuts and their manifests. Ids are listed in core/docs/reference/errors.md.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"
#include "s2s/error.h"

namespace s2s::cuts_errors {

Error frames(double frame_length_s, int64_t sample_rate_hz);

// Manifests; `place` is "file:line" or "file:line: cut 'id'".
Error not_a_cut(const std::string& place, const std::string& looks_like);
Error cut_type(const std::string& place, const std::string& type);
Error source_type(const std::string& place, const std::string& type);
Error manifest_sample_rate(const std::string& place, const std::string& recording_id,
                           int64_t sample_rate_hz);
Error duration(const std::string& place, double duration_s);
Error turn_time(const std::string& place, const Supervision& turn, const std::string& reason);
Error duplicate_id(const std::string& place, const std::string& first_place);
/// Audio in memory has no place in a manifest.
Error audio_in_memory(const Cut& cut);
/// `operation` ("truncate") is not defined for the cut.
Error operation(const Cut& cut, const std::string& operation, const std::string& reason);
Error empty(const std::vector<std::string>& paths);

}  // namespace s2s::cuts_errors
