#pragma once
// Recordings in formats that only ffmpeg reads (.m4a, .webm, ...), as FLAC files beside the result.

#include <string>

#include "convert/importer.h"

namespace s2s::convert {

/// The path of ffmpeg, which reads them; "" where it is not installed, or may not be started
/// (--untrusted).
std::string find_decoder();

/// Where the decoded recordings of a result lie: "cuts.audio" beside "cuts.jsonl.gz".
std::string decoded_folder_of(const std::string& result);

/// A file that can be read: `path` itself, or what `options.decoder` makes of it, with 16 bits,
/// all channels and the sample rate of its first audio track. The name of a decoded file has the
/// hash of the recording's content, so that one that is there is of the same content.
/// Errors: [data/missing-file]; [data/unreadable-audio] with what ffmpeg says; [io/write].
std::string readable_audio(const std::string& path, const ImportOptions& options);

/// Whether conversions with these options read the file: as it is, or through ffmpeg.
bool is_read(const std::string& path, const ImportOptions& options);

}  // namespace s2s::convert
