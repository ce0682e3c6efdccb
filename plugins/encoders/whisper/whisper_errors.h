#pragma once
// Errors of this encoder.

#include <cstdint>

#include "s2s/error.h"

namespace s2s::whisper {

/// [encoder/window]: mel features that are no whole windows.
Error window_error(int64_t num_frames, int64_t window_frames);

}  // namespace s2s::whisper
