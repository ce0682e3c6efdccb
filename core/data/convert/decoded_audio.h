#pragma once
// Decodes recordings that only ffmpeg reads (.m4a, .webm, ...) to FLAC files beside the result.

#include <string>

#include "convert/importer.h"

namespace s2s::convert {

/// Returns the path of ffmpeg, or "" if it is not installed or must not be started (--untrusted).
std::string find_decoder();

/// Returns the folder of a result's decoded recordings: "cuts.audio" beside "cuts.jsonl.gz".
std::string decoded_folder_of(const std::string& result);

/// Returns a file that can be read: `path` itself, or a copy that `options.decoder` makes of it.
/// The copy has 16 bits and all channels and the sample rate of the first audio track. Its name has
/// the hash of the recording's content, so an existing copy has the same content.
/// Errors: [data/missing-file]; [data/unreadable-audio] with ffmpeg's message; [io/write].
std::string readable_audio(const std::string& path, const ImportOptions& options);

/// Whether conversions with these options can read the file, directly or through ffmpeg.
bool is_read(const std::string& path, const ImportOptions& options);

}  // namespace s2s::convert
