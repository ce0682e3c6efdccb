#pragma once
// Layouts of a model over so many ranks, beside each other.

#include "s2s_run/plan/plan_inputs.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

/// Prints each layout of the asked ranks under which the plan holds: what to write, what a rank
/// holds and sends. With --gpu-memory those that fit come first, and layouts that move elements to
/// the host are tried where nothing else fits. Returns the exit code: 1 when none fits.
int print_layouts(const PlannedRun& run, const PlanArguments& arguments,
                  const Invocation& invocation);

}  // namespace s2s::run
