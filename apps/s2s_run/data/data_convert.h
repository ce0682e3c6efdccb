#pragma once
// `s2s-run data convert`.

#include "s2s_run/subcommands.h"

namespace s2s::run {

/// Adds `data convert`.
void setup_data_convert(CLI::App& app, Invocation& invocation);

}  // namespace s2s::run
