#pragma once
// Every mistake in data that a user can make. Ids are listed in core/docs/errors.md.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/cuts.h"
#include "s2s/error.h"

namespace s2s::data_errors {

Error frames(double frame_length_s, int64_t sample_rate_hz);

// Manifests; `place` is "file:line" or "file:line: cut 'id'".
Error missing_manifest(const std::string& path);
Error gzip(const std::string& path, int64_t line, const std::string& reason);
Error json(const std::string& place, const std::string& reason);
Error field(const std::string& place, const std::string& name, const std::string& found,
            const std::string& expected);
Error not_a_cut(const std::string& place, const std::string& looks_like);
Error cut_type(const std::string& place, const std::string& type);
Error source_type(const std::string& place, const std::string& type);
Error transforms(const std::string& place, const std::string& recording_id);
Error manifest_sample_rate(const std::string& place, const std::string& recording_id,
                           int64_t sample_rate_hz);
Error duration(const std::string& place, double duration_s);
Error turn_time(const std::string& place, const Supervision& turn, const std::string& reason);
Error duplicate_id(const std::string& place, const std::string& first_place);
Error empty(const std::vector<std::string>& paths);

// Cuts that do not suit a duplex model.
Error no_recording(const Cut& cut);
Error no_target(const Cut& cut);
Error no_turns(const Cut& cut, const std::vector<std::string>& speakers,
               const std::vector<std::string>& roles);
Error no_text(const Cut& cut, const Supervision& turn);
Error no_alignment(const Cut& cut, const Supervision& turn, const std::string& option);

// Audio files given on a command line.
Error missing_wave(const std::string& path);
Error empty_wave(const std::string& path);
Error unreadable_wave(const std::string& path, const std::string& reason);

// Audio files.
Error missing_audio(const Cut& cut, const std::string& path);
Error unreadable_audio(const Cut& cut, const std::string& path, const std::string& reason);
Error file_sample_rate(const Cut& cut, const std::string& path, int64_t in_file_hz,
                       int64_t in_manifest_hz);
Error channel(const Cut& cut, const std::string& path, const std::string& problem);
/// The cut's stretch is from `start_s` to `end_s` of a file that ends at `available_s`.
Error cut_too_long(const Cut& cut, const std::string& path, double start_s, double end_s,
                   double available_s);

/// The file is longer than the manifest says by more than half a second.
Error duration_mismatch(const Cut& cut, const std::string& path, double in_file_s,
                        double in_manifest_s);

}  // namespace s2s::data_errors
