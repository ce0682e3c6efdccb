#pragma once
// The subcommands of `s2s-run config`.

#include "s2s_run/subcommands.h"

namespace s2s::run {

void setup_config(CLI::App& app, Invocation& invocation);

}  // namespace s2s::run
