#pragma once
// The files of a source, and the speakers in their names.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audio/audio_reader.h"
#include "convert/importer.h"
#include "convert/turns.h"
#include "files/source_state.h"
#include "s2s/data/cuts.h"

namespace s2s::convert {

/// Returns the audio files below `folder` that can be read, sorted by path. A recording that only
/// ffmpeg reads is left out if there is a readable file of the same name. Errors:
/// [data/missing-file].
std::vector<std::string> audio_files(const std::string& folder, const ImportOptions& options = {});

/// Returns `path` relative to `folder` and without its extension.
std::string name_below(const std::string& path, const std::string& folder);

/// Removes the speaker and the '_', '-' or '.' before it: "call_user" and "user" -> "call".
std::optional<std::string> without_speaker(const std::string& name, const std::string& speaker);

/// Whether a transcript's label means the agent. That is so for `agent`, for `main_speaker` and for
/// a transcript without labels. All others are the user.
bool is_agent(const std::string& label, const ImportOptions& options);

/// Replaces labels by roles.
std::vector<Spoken> with_roles(std::vector<Spoken> spoken, const ImportOptions& options);

/// Stores a speaker's own name as custom field "speaker_id".
void set_speaker_id(const std::string& name, Supervision& turn);

/// Fingerprint of names and of the options that change cuts.
uint64_t fingerprint_of(const std::vector<std::string>& names, const ImportOptions& options);

/// Reads an audio header. Errors: [data/missing-file], [data/unreadable-audio].
data::AudioInfo read_audio_info(const std::string& path);

/// Runs `command` in a shell and reads the header of the audio that it writes.
/// Errors: [data/pipe], [data/unreadable-audio] at `place`.
data::AudioInfo read_command_info(const std::string& command, const std::string& place);

/// A recording of one file. Source: lhotse Recording.from_file (num_samples, duration).
Recording file_recording(const std::string& id, const std::string& path,
                         const data::AudioInfo& info);

/// Adds to a state an audio file whose header is read, and the transcript beside it or its absence.
void add_audio(const std::string& path, files::SourceState& state);
/// Adds to a state only the transcript beside `audio_path`.
void add_transcript(const std::string& audio_path, files::SourceState& state);

/// Whether a file name has an audio extension.
bool is_audio_name(const std::string& path);

}  // namespace s2s::convert
