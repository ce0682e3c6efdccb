#pragma once
// What audio files' headers say.

#include <string>

#include "audio/audio_reader.h"
#include "s2s/data/cuts.h"

namespace s2s::convert {

/// Reads the header. Errors: [data/missing-file], [data/unreadable-audio].
data::AudioInfo read_audio_info(const std::string& path);

/// Runs `command` in a shell and reads the header of the audio that it writes.
/// Errors: [data/pipe], [data/unreadable-audio] at `place`.
data::AudioInfo read_command_info(const std::string& command, const std::string& place);

/// A recording that is one file. Source: lhotse Recording.from_file (num_samples, duration).
Recording file_recording(const std::string& id, const std::string& path,
                         const data::AudioInfo& info);

/// True for names that end as an audio file's do.
bool is_audio_name(const std::string& path);

}  // namespace s2s::convert
