#pragma once
// Optimizers that need whole parameters, and strategies that shard them.

#include <string>
#include <vector>

#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/strategy.h"
#include "s2s/parallel/whole_parameters.h"

namespace s2s {

/// The optimizer, or the one that it averages for, if it needs whole parameters; else null.
UsesWholeParameters* whole_parameters_user(Optimizer& optimizer);

/// True for a state that every rank has as a whole.
bool is_whole_state(const Optimizer& optimizer, const std::string& name);

/// The parameters to attach to the optimizer: optimizer_parameters of the strategy, or, for an
/// optimizer that needs whole parameters, the shards of all ranks. All ranks call this after
/// `attach` of the strategy. Errors: [config/optimizer-layout] when the strategy shards parameters,
/// but does not offer them as a whole.
std::vector<NamedTensor> parameters_to_attach(Optimizer& optimizer, ParallelStrategy& strategy,
                                              Block& model);

}  // namespace s2s
