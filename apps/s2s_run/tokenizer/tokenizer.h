#pragma once
// `s2s-run tokenizer encode|decode|train`.

#include "s2s_run/subcommands.h"

namespace s2s::run {

void setup_tokenizer(CLI::App& app, Invocation& invocation);

}  // namespace s2s::run
