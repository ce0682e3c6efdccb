#pragma once
// s2s-run compare: a component against another implementation's numbers.

#include "s2s_run/subcommands.h"

namespace s2s::run {

void setup_compare(CLI::App& app, Invocation& invocation);

}  // namespace s2s::run
