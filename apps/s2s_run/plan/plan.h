#pragma once
// s2s-run plan: the sharding plan of a configuration's model, checked before memory is spent.

#include "s2s_run/subcommands.h"

namespace s2s::run {

void setup_plan(CLI::App& app, Invocation& invocation);

}  // namespace s2s::run
