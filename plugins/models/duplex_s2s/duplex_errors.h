#pragma once
// Errors of the duplex model.

#include <string>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s::duplex {

[[noreturn]] void throw_no_codec();
[[noreturn]] void throw_no_tokenizer();
/// [model/no-loss]: the current stage has no loss.
[[noreturn]] void throw_no_loss();
/// [model/user-text]: an option needs feed_back, which is off.
[[noreturn]] void throw_not_fed_back(const std::string& key);

}  // namespace s2s::duplex
