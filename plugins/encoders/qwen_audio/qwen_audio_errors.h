#pragma once
// Errors of these encoders.

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::qwen_audio {

/// [encoder/window]: mel features that are no whole windows.
Error window_error(int64_t num_frames, int64_t window_frames);
/// [encoder/layers]: outputs of layers have another width than the encoder's own.
Error layer_widths_error(const std::string& path, int64_t width, int64_t output_dim);

}  // namespace s2s::qwen_audio
