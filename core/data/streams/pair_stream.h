#pragma once
// Source and target cuts as dialogues: two streams that go in step.

#include <string>

#include "streams/combinators.h"

namespace s2s::data {

/// One cut of two that have the same id.
using CutJoin = std::function<CutPtr(const CutPtr& source, const CutPtr& target)>;

/// The cuts of both streams, joined in pairs.
/// Key: length of the source's key, it, the target's.
/// Errors: [data/pairs] when ids differ, or one stream ends before the other.
/// Source: lhotse dataset/sampling/cut_pairs.py; several cut sets in dynamic.py.
StreamPtr pairs(StreamPtr source, StreamPtr target, CutJoin join, const std::string& name);

/// `source` with the recording of `target` as the agent's, and the turns of both: speakers that are
/// not named are "user" and "agent". When the target is longer, silence follows the source.
/// Errors: [data/pairs] unless the target is a plain cut that begins where its recording or the
/// source does.
CutPtr paired_dialogue(const CutPtr& source, const CutPtr& target);

}  // namespace s2s::data
