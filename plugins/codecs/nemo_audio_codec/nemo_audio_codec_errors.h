#pragma once
// Errors of this codec. `path` names the codec's options in the config ("model.codec").

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::nemo_audio_codec {

/// [codec/nemo-sizes]: options that do not fit together.
Error sizes_error(const std::string& path, const std::string& problem, const std::string& expected);
Error code_error(int64_t code, int64_t codebook_size);
/// [codec/too-short]: fewer frames than the reflection of a symmetric half needs.
Error too_short(const std::string& half, int64_t frames, int64_t needed);
/// A warning: the codec has random weights.
std::string untrained(const std::string& path);

}  // namespace s2s::nemo_audio_codec
