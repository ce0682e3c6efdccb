#pragma once
// Random numbers of a row that do not depend on the rows beside it, so that a step is the same on
// any number of ranks.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace s2s::codec {

/// What the numbers are for.
constexpr uint64_t kSegmentDraw = 1, kDropoutDraw = 2, kBooksDraw = 3, kSpeechDraw = 4,
                   kTurnDraw = 5;

/// A number in [0, 1) for each row, by its id (its place where ids lack it), the step and the
/// purpose. [B] float64, on the CPU.
at::Tensor uniform_of_rows(const std::vector<std::string>& ids, int64_t rows, int64_t step,
                           uint64_t purpose);

}  // namespace s2s::codec
