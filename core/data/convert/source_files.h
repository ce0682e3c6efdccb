#pragma once
// The files of a source, and how their names speak of speakers.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convert/importer.h"
#include "convert/turns.h"

namespace s2s::convert {

/// Audio files below `folder`, sorted by path. Errors: [data/missing-file].
std::vector<std::string> audio_files(const std::string& folder);

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

}  // namespace s2s::convert
