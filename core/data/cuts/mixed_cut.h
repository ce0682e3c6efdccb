#pragma once
// What a mixed cut derives from its tracks.

#include <functional>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// The tracks that are not muted; all when every one is.
std::vector<const MixTrack*> audible_tracks(const Cut& mix);
/// The first audible track that is not padding; the first audible one when all are.
const MixTrack& first_data_track(const Cut& mix);

/// Changes the cut of that track, or that of a mix in it, which is where Lhotse keeps fields that
/// are set on a mix.
void change_first_track(Cut& mix, const std::function<void(Cut&)>& change);

/// Writes the duration and the supervisions, which follow from the tracks: call it after each
/// change of them. Source: lhotse MixedCut.duration, MixedCut.supervisions.
void update_mixed(Cut& mix);

}  // namespace s2s::data
