#pragma once
// Cuts made of recordings, as lhotse's Recording.to_cut and Cut.truncate make them.

#include <string>

#include "s2s/data/cuts.h"

namespace s2s::data {

struct AudioInfo;

/// Rate, length and one source with all channels; its place is the caller's.
void describe_audio(const AudioInfo& info, Recording& recording);

/// All of a recording, with its id: a mono cut, or a multi cut of several channels.
Cut whole_cut(Recording recording);

/// Leaves `duration_s` from `offset_s` on, or what there is, in whole samples.
/// Errors: [data/nemo-manifest] when nothing is left; `place` is the entry's.
void take_stretch(Cut& cut, double offset_s, double duration_s, const std::string& place);

}  // namespace s2s::data
