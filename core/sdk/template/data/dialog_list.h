#pragma once
// Reads a text file of dialogues as cuts.

#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace PLUGIN_NAME {

/// Reads lines of tab-separated fields. Empty lines and comments (#) are skipped:
///
///   dialog ID USER_AUDIO AGENT_AUDIO SECONDS    (audio relative to the list's folder)
///   turn   SPEAKER START END TEXT               (seconds; a turn of the dialogue above)
///
/// sample_rate_hz: of all audio.
/// Errors: [PLUGIN_NAME/list] when the file cannot be read or has no dialogue, [PLUGIN_NAME/line]
/// for the first line with another format.
std::vector<s2s::Cut> read_dialogs(const std::string& path, int64_t sample_rate_hz);

}  // namespace PLUGIN_NAME
