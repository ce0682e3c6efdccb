#pragma once
// What to write instead of keys of other frameworks that stay unknown here.

#include <map>
#include <string>
#include <vector>

#include "s2s/foreign_keys.h"

namespace s2s::interop {

/// Rows by the block that their keys are of ("trainer.strategy"); "": dotted keys. core's check of
/// a configuration adds them to the messages about unknown keys.
std::map<std::string, std::vector<ForeignKey>> advised_keys();

}  // namespace s2s::interop
