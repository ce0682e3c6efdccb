#pragma once
// Parts of cuts, with the turns of long cuts found once for many parts.

#include <map>
#include <string>
#include <vector>

#include "cuts/cut_operations.h"

namespace s2s::data {

/// Turns by the id of a cut or of a track's cut; of two tracks with one id the last counts.
using TurnsById = std::map<std::string, std::vector<Supervision>>;

/// Turns of no duration are left out. Source: lhotse Cut.index_supervisions.
TurnsById index_turns(const Cut& cut);

/// With an index, turns are taken when more than a hundredth of them or of the part overlaps.
/// Source: lhotse truncate with _supervisions_index.
Cut truncate(const Cut& cut, const TruncateOptions& options, const TurnsById* index);

}  // namespace s2s::data
