#pragma once
// Whether a training run has the memory that it is going to ask for.

#include <string>
#include <vector>

#include "run/run_program.h"
#include "s2s/registry.h"

namespace s2s::run {

/// Adds a warning [run/memory] when parameters, gradients and optimizer state of the ranks of one
/// machine are more than this machine's whole memory. `config`: checked, as written, of a run that
/// computes on CPUs. Errors: those of the model's parts and of its plan.
void warn_of_memory(const Config& config, const Registries& registries, const StartedRanks& ranks,
                    std::vector<std::string>& warnings);

/// The text, for ranks of which each holds so many bytes; "" when they fit into `there`.
std::string memory_warning(double bytes_of_rank, int64_t ranks_here, double there);

}  // namespace s2s::run
