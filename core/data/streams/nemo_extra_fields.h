#pragma once
// NeMo's extra_fields: lines of other files attached to cuts.

#include "streams/combinators.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// text_iter: the n-th cut of a pass has line n; text_sample: each cut has a line that is drawn,
/// with the seed (of tarred sets: plus the pass).   Token: a line for each field, the source's.
/// Errors: [data/extra-field].   Source: nemo ExtraField.
StreamPtr attach_extra_fields(StreamPtr source, const InputNode& node, bool is_tarred);

}  // namespace s2s::data
