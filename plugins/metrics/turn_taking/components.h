#pragma once
// The metrics of this plugin. Definitions: core/docs/reference/metrics.md.

#include "s2s/kinds/metric.h"
#include "s2s/registry.h"

namespace s2s::turn_taking {

/// Whether the agent answers in time, stays silent in pauses and stops when interrupted.
Component<Metric> turn_taking();
/// The numbers of Full-Duplex-Bench's data sets.
Component<Metric> full_duplex_bench();
/// The turn metrics of the package voicebench.
Component<Metric> voicebench();

}  // namespace s2s::turn_taking
