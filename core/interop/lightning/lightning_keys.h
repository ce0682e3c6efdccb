#pragma once
// Options of Lightning's Trainer that are ignored here.

#include "s2s/foreign_keys.h"

namespace s2s::interop {

/// Dotted keys of the configuration.
ForeignKeys lightning_keys();

}  // namespace s2s::interop
