#pragma once
// The files of a source, and how their names speak of speakers.

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

/// Audio files below `folder` that are read, sorted by path. A recording that only ffmpeg reads is
/// left out where a readable file of its name lies beside it. Errors: [data/missing-file].
std::vector<std::string> audio_files(const std::string& folder, const ImportOptions& options = {});

/// `path` below `folder`, without its ending: the name of what it holds.
std::string name_below(const std::string& path, const std::string& folder);

/// "call_user" and "user" -> "call": the name without the speaker behind '_', '-' or '.'.
std::optional<std::string> without_speaker(const std::string& name, const std::string& speaker);

/// "user" or "agent" of a transcript's label: `agent` and `main_speaker` are the agent, so is a
/// transcript without labels; everybody else is the user.
bool is_agent(const std::string& label, const ImportOptions& options);

/// Labels every part by its role.
std::vector<Spoken> with_roles(std::vector<Spoken> spoken, const ImportOptions& options);

/// Keeps a speaker's own name as custom field "speaker_id".
void set_speaker_id(const std::string& name, Supervision& turn);

/// Of names and the options that change cuts.
uint64_t fingerprint_of(const std::vector<std::string>& names, const ImportOptions& options);

/// Reads the header. Errors: [data/missing-file], [data/unreadable-audio].
data::AudioInfo read_audio_info(const std::string& path);

/// Runs `command` in a shell and reads the header of the audio that it writes.
/// Errors: [data/pipe], [data/unreadable-audio] at `place`.
data::AudioInfo read_command_info(const std::string& command, const std::string& place);

/// A recording that is one file. Source: lhotse Recording.from_file (num_samples, duration).
Recording file_recording(const std::string& id, const std::string& path,
                         const data::AudioInfo& info);

/// Adds an audio file whose header is read, and the transcript beside it, to what a piece is made
/// of; also that there is none.
void add_audio(const std::string& path, files::SourceState& state);
/// Only the transcript beside `audio_path`.
void add_transcript(const std::string& audio_path, files::SourceState& state);

/// True for names that end as an audio file's do.
bool is_audio_name(const std::string& path);

}  // namespace s2s::convert
