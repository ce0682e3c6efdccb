#pragma once
// `s2s-run data inspect`.

#include "s2s_run/subcommands.h"

namespace s2s::run {

/// Adds `data inspect`.
void setup_data_inspect(CLI::App& app, Invocation& invocation);

}  // namespace s2s::run
