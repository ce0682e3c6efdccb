#pragma once
// Mistakes in how streams of cuts are put together. Ids are listed in
// core/docs/reference/errors.md.

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::data::stream_errors {

/// [data/position]: a saved position is not one that this version wrote, or not of this pipeline.
Error damaged_state(const std::string& reason);
/// [data/weights]: `found` is what is wrong with the weights of sources that are mixed.
Error weights(const std::string& found);
/// [data/empty-draw]: nothing to draw from.
Error empty_draw(const std::string& what);

}  // namespace s2s::data::stream_errors
