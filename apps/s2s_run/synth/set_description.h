#pragma once
// synth.json of a set: its options, so that a complete set is found again.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "s2s_run/synth/synth.h"

namespace s2s::synth {

const char* size_name(Size size);

/// Reads the summary of an existing set, and compares its files with what was written. They are
/// read again only where something is newer than synth.json (files/source_state.h). False when the
/// folder does not exist or is empty. Errors: [synth/folder-in-use], [synth/other-set].
bool find_existing(const std::filesystem::path& folder, const nlohmann::ordered_json& settings,
                   SetSummary& summary);
/// Errors: [io/write].
void write_description(const std::filesystem::path& folder, const nlohmann::ordered_json& settings,
                       const SetSummary& summary);

}  // namespace s2s::synth
