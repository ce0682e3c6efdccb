#pragma once
// Errors of this codec. `path` names the codec's options in the config ("model.codec").

#include <string>

#include "s2s/error.h"

namespace s2s::encodec {

/// [codec/encodec-sizes]: sizes of the options do not fit together.
Error sizes_error(const std::string& path, const std::string& problem);
/// [codec/not-streamable]: the codec normalizes over whole chunks.
Error not_streamable();
/// A warning, [codec/untrained]: the codec has random weights.
std::string untrained(const std::string& path);
/// A warning, [codec/encodec-chunks]: codes do not hold the loudness of chunks.
std::string without_scales(const std::string& path);

}  // namespace s2s::encodec
