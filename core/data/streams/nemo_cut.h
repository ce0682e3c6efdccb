#pragma once
// Makes cuts of recordings, as lhotse's Recording.to_cut and Cut.truncate do.

#include <string>

#include "s2s/data/cuts.h"

namespace s2s::data {

struct AudioInfo;

/// Sets the recording's rate, length and one source with all channels. The caller sets the path.
void describe_audio(const AudioInfo& info, Recording& recording);

/// A cut over the whole recording, with its id: a mono cut, or a multi cut for several channels.
Cut whole_cut(Recording recording);

/// Shortens the cut to `duration_s` from `offset_s` on, in whole samples, or to what is left.
/// Errors: [data/nemo-manifest] when nothing is left; `place` names the entry.
void take_stretch(Cut& cut, double offset_s, double duration_s, const std::string& place);

}  // namespace s2s::data
