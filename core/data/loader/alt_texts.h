#pragma once
// One cut for each of the texts that a custom field `alt_text` has.

#include "streams/combinators.h"

namespace s2s::data {

/// Behind a cut with `alt_text: {NAME: {"text", "lang", ...}, ...}` one more for each of these,
/// whose turns have that text and language. Its custom fields are what else stands there, and
/// recordings and arrays (NeMo drops those, and with them the agent's audio).   Key: number of
/// the text, 0 the cut itself; the source's.   Errors: [data/alt-text]. Source: NeMo 3.0
/// collections/common/data/lhotse/dataloader.py _flatten_alt_text.
StreamPtr expand_alt_texts(StreamPtr source);

}  // namespace s2s::data
