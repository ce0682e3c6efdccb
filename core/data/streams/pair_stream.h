#pragma once
// Two streams of source and target cuts that are read in step and joined to dialogues.

#include <string>

#include "streams/combinators.h"

namespace s2s::data {

/// Makes one cut of two with the same id.
using CutJoin = std::function<CutPtr(const CutPtr& source, const CutPtr& target)>;

/// Joins the n-th cut of `source` with the n-th cut of `target`.
/// Key: length of the source's key, the source's key, the target's key.
/// Errors: [data/pairs] when ids differ, or when one stream ends before the other.
/// Source: lhotse dataset/sampling/cut_pairs.py; several cut sets in dynamic.py.
StreamPtr pairs(StreamPtr source, StreamPtr target, CutJoin join, const std::string& name);

/// Returns `source` with the recording of `target` as the agent's audio, and with the turns of
/// both. Speakers without a name become "user" and "agent". When the target is longer, silence is
/// added after the source.
/// Errors: [data/pairs] unless the target is a plain cut that begins at the begin of its recording
/// or where the source begins.
CutPtr paired_dialogue(const CutPtr& source, const CutPtr& target);

}  // namespace s2s::data
