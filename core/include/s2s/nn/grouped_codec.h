#pragma once
// Several frames of a codec as one: for a codec whose frame rate is a multiple of the model's.

#include <cstdint>
#include <memory>

#include "s2s/kinds/codec.h"

namespace s2s {

/// A codec with a frame for each n frames of `codec`, and n times as many codebooks: those of the
/// first frame, then those of the next. Names of tensors stay. n = 1: the codec itself.
std::unique_ptr<Codec> group_frames(std::unique_ptr<Codec> codec, int64_t n);

}  // namespace s2s
