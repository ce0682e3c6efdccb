#pragma once
// `s2s-run data shar`.

#include "s2s_run/subcommands.h"

namespace s2s::run {

/// Adds `data shar`.
void setup_data_shar(CLI::App& app, Invocation& invocation);

}  // namespace s2s::run
