#pragma once
// s2s-run launch diagnose: why did a run of several processes fail, or why does it hang?

#include "s2s_run/subcommands.h"

namespace s2s::run {

void add_launch_diagnose(CLI::App& group, Invocation& invocation);

}  // namespace s2s::run
