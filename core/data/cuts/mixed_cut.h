#pragma once
// What is derived from the tracks of a mixed cut.

#include <functional>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// Returns the tracks that are not muted, or all tracks if all are muted.
std::vector<const MixTrack*> audible_tracks(const Cut& mix);
/// Returns the first audible track that is not padding, or the first audible one if all are
/// padding.
const MixTrack& first_data_track(const Cut& mix);

/// Changes the cut of that track; if it is itself a mix, changes its first track. Lhotse keeps the
/// fields that are set on a mix there.
void change_first_track(Cut& mix, const std::function<void(Cut&)>& change);

/// Updates the duration and the supervisions, which are derived from the tracks. Call it after each
/// change of the tracks. Source: lhotse MixedCut.duration, MixedCut.supervisions.
void update_mixed(Cut& mix);

}  // namespace s2s::data
