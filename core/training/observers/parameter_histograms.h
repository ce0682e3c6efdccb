#pragma once
// Histograms of a model's trained parameters, for loggers.

#include <map>
#include <string>

#include "s2s/kinds/communicator.h"
#include "s2s/kinds/logger.h"
#include "s2s/kinds/model.h"
#include "s2s/kinds/strategy.h"

namespace s2s {

/// Returns the histogram of each trained parameter, by name, over all ranks. Every rank must call
/// it, and all get the same counts. Its intervals grow by a quarter from 1e-8 to 1e4 on either side
/// of zero.
std::map<std::string, LoggedHistogram> parameter_histograms(ParallelStrategy& strategy,
                                                            Model& model, Communicator& world);

}  // namespace s2s
