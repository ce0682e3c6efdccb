#pragma once
// What to write instead of keys of other frameworks that are not translated.

#include <map>
#include <string>
#include <vector>

#include "s2s/foreign_keys.h"

namespace s2s::interop {

/// Rows by the block of their keys ("trainer.strategy"); "": dotted keys. The check of a
/// configuration adds them to messages about unknown keys.
std::map<std::string, std::vector<ForeignKey>> advised_keys();

}  // namespace s2s::interop
