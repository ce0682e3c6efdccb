#pragma once

#include <cstdint>

#include "s2s/parallel/parallel_engine.h"

namespace s2s {

/// Bytes of the elements that a layout stores and moves.
struct ElementBytes {
  int64_t stored = 4;    // a rank's part of a parameter, its gradient, each number of the optimizer
  int64_t gathered = 4;  // parameters as they are whole
  int64_t reduced = 4;   // gradients on their way
  int64_t product = 4;   // what products take and make
  int64_t stream = 4;    // what blocks hand on
};

/// What comes of a precision's types (stored, product) under a layout's own.
ElementBytes element_bytes(int64_t stored, int64_t product, const EngineSettings& settings);

}  // namespace s2s
