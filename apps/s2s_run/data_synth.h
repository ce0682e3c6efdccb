#pragma once
// `s2s-run data synth`.

#include "s2s_run/subcommands.h"

namespace s2s::run {

/// Adds `data synth`.
void setup_data_synth(CLI::App& app, Invocation& invocation);

}  // namespace s2s::run
