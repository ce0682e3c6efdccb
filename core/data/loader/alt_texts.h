#pragma once
// Adds a cut for each text in the custom field `alt_text`.

#include "streams/combinators.h"

namespace s2s::data {

/// After a cut with `alt_text: {NAME: {"text", "lang", ...}, ...}`, adds one more cut for each of
/// these texts. Its turns have that text and language. Its custom fields are the other keys of the
/// text, and the cut's recordings and arrays (NeMo drops those, and with them the agent's audio).
/// Key: number of the text (0 for the cut itself), then the source's key.
/// Errors: [data/alt-text].
/// Source: NeMo 3.0 collections/common/data/lhotse/dataloader.py _flatten_alt_text.
StreamPtr expand_alt_texts(StreamPtr source);

}  // namespace s2s::data
