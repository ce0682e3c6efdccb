#pragma once
// Mistakes that show when a cut's audio is loaded. Ids are listed in core/docs/errors.md.

#include <cstdint>
#include <string>

#include "s2s/cuts.h"
#include "s2s/error.h"

namespace s2s::cut_audio_errors {

Error no_recording(const Cut& cut);
Error no_target(const Cut& cut);

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
/// What cannot be loaded yet.
Error cut_kind(const Cut& cut);
Error source_kind(const Cut& cut, const std::string& type);
Error transforms(const Cut& cut, const std::string& recording_id);

}  // namespace s2s::cut_audio_errors
