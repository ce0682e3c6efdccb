#pragma once
// Options of Lightning's Trainer that change nothing here.

#include <vector>

#include "config/config_notes.h"

namespace s2s {

/// Those that ask for what is done anyway, with the values that do: Lightning's defaults.
std::vector<KeyWithoutEffect> lightning_defaults();

/// Those of versions before 2.0.
std::vector<KeyWithoutEffect> old_lightning_keys();

}  // namespace s2s
