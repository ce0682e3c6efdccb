#pragma once
// Keys of NeMo's `trainer` and `exp_manager` that are ignored here.

#include "s2s/foreign_keys.h"

namespace s2s::interop {

/// Dotted keys of the configuration.
ForeignKeys nemo_run_keys();

}  // namespace s2s::interop
