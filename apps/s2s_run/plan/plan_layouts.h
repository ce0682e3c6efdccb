#pragma once
// Compares layouts of a model.

#include "s2s_run/plan/plan_inputs.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

/// Prints each valid layout for the number of ranks: its options, and the memory and communication
/// of a rank. With --gpu-memory, layouts that fit come first, and layouts with CPU offload are
/// added if no other fits. Returns the exit code: 1 when none fits.
int print_layouts(const PlannedRun& run, const PlanArguments& arguments,
                  const Invocation& invocation);

}  // namespace s2s::run
