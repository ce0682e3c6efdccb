#pragma once
// Errors of cuts, their manifests and their audio. Ids are listed in core/docs/reference/errors.md.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"
#include "s2s/error.h"

namespace s2s::cuts_errors {

/// Lists names as "'a', 'b'", or "(none)".
std::string listed(const std::vector<std::string>& names);

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
/// `operation` (for example "truncate") is not defined for the cut.
Error operation(const Cut& cut, const std::string& operation, const std::string& reason);
Error empty(const std::vector<std::string>& paths);

Error no_recording(const Cut& cut);
Error no_target(const Cut& cut);
/// The cut is too long for its frames and samples to fit into memory; its manifest is damaged.
Error endless(const Cut& cut);
Error no_custom(const Cut& cut, const std::string& name);

/// Puts the place of the cut before the error of a file, command or encoder.
Error at_place(const std::string& place, const Error& cause);

// `place` is "file:line: cut 'id'"; `path` a file, or another name of the source.
Error missing_audio(const std::string& place, const std::string& path);
Error unreadable_audio(const std::string& place, const std::string& path,
                       const std::string& reason);
Error source_kind(const std::string& place, const std::string& type, const std::string& source);
Error file_sample_rate(const std::string& place, const std::string& path, int64_t in_file_hz,
                       int64_t in_manifest_hz);
Error channel(const std::string& place, const std::string& path, const std::string& problem);
/// The cut covers `start_s` to `end_s` of a file that ends at `available_s`.
Error cut_too_long(const std::string& place, const std::string& path, double start_s, double end_s,
                   double available_s);
/// The audio is longer than the manifest says by more than the tolerance.
Error duration_mismatch(const std::string& place, const std::string& path, double in_file_s,
                        double in_manifest_s);
Error transform(const std::string& place, const AudioTransform& transform,
                const std::string& reason);
Error mix(const std::string& place, const std::string& problem);
/// The environment variable LHOTSE_AUDIO_DURATION_MISMATCH_TOLERANCE has a wrong value.
Error tolerance(const std::string& value);

}  // namespace s2s::cuts_errors
