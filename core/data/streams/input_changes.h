#pragma once
// Changes that entries of `input_cfg` make to their cuts: tags and NeMo's variants of duplex
// dialogues.

#include <string>

#include "streams/combinators.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// Sets custom fields on every cut.
StreamPtr attach_tags(StreamPtr source, const CustomFields& tags);

/// Applies the change that the entry's type asks for. Returns the source itself when there is none.
/// Errors, when cuts are made: [data/segments], [data/no-target].
/// Source: NeMo 3.0 cutset.py, the parsers of those types.
StreamPtr change_to_duplex(StreamPtr source, const InputNode& node);

/// Attaches lines of other files to cuts (NeMo's extra_fields). With text_iter, the n-th cut of a
/// pass gets line n. With text_sample, each cut gets a randomly drawn line; the generator is seeded
/// with the entry's seed, plus the pass for tarred sets.
/// Key: a line number for each field, then the source's key.
/// Errors: [data/extra-field].   Source: nemo ExtraField.
StreamPtr attach_extra_fields(StreamPtr source, const InputNode& node, bool is_tarred);

// Changes of a single cut.

/// Makes a dialogue of a single turn: the turn becomes the user's, and the agent stays silent. The
/// agent's empty turn is at the end of the user's audio, or in silence that is added after it. The
/// result is as long as the longer recording.
CutPtr listening_dialogue(const CutPtr& cut, double agent_silence_duration);
/// Returns the cut without the silence that listening_dialogue added; any other cut is returned
/// unchanged. NeMo makes one recording of both parts, so its tests for plain cuts apply to the cut
/// with silence, too.
const Cut& without_silence(const Cut& cut);
/// Converts agent_segments and user_segments to turns.
CutPtr dialogue_of_segments(const CutPtr& cut, double move_agent_text_back_by);
/// Swaps the roles of user and agent.
CutPtr reversed_dialogue(const CutPtr& cut, const DuplexChange& change);

}  // namespace s2s::data
