#pragma once
// What entries of `input_cfg` do to their cuts: tags, and NeMo's variants of duplex dialogues.

#include <string>

#include "streams/combinators.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// Custom fields on every cut.
StreamPtr attach_tags(StreamPtr source, const CustomFields& tags);

/// The entry's own change by its type; the source itself when there is none.
/// Errors, when cuts are made: [data/segments], [data/no-target].
/// Source: NeMo 3.0 cutset.py, the parsers of those types.
StreamPtr change_to_duplex(StreamPtr source, const InputNode& node);

/// NeMo's extra_fields: lines of other files attached to cuts.
/// text_iter: the n-th cut of a pass has line n; text_sample: each cut has a line that is drawn,
/// with the seed (of tarred sets: plus the pass).   Key: a line for each field, the source's.
/// Errors: [data/extra-field].   Source: nemo ExtraField.
StreamPtr attach_extra_fields(StreamPtr source, const InputNode& node, bool is_tarred);

// The changes to dialogues, on one cut.

/// A single turn becomes the user's; the agent says nothing, at the end of the user's audio or in
/// silence behind it. The longer recording is the cut with padding behind it.
CutPtr listening_dialogue(const CutPtr& cut, double agent_silence_duration);
/// The cut that this put silence behind; any other cut itself. NeMo's is one recording: what is
/// asked of plain cuts is asked of it.
const Cut& without_silence(const Cut& cut);
/// agent_segments and user_segments become turns.
CutPtr dialogue_of_segments(const CutPtr& cut, double move_agent_text_back_by);
/// The user becomes the agent and the agent the user.
CutPtr reversed_dialogue(const CutPtr& cut, const DuplexChange& change);

}  // namespace s2s::data
