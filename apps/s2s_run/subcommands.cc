#include "s2s_run/subcommands.h"

#include <CLI/CLI.hpp>

namespace s2s::run {

// Each of these lives in a file of its own name.

void setup_subcommands([[maybe_unused]] CLI::App& app, [[maybe_unused]] Invocation& invocation) {}

}  // namespace s2s::run
