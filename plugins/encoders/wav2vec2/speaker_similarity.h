#pragma once
// Whether the agent sounds like the reference agent.

#include "s2s/kinds/metric.h"
#include "s2s/registry.h"

namespace s2s::wav2vec2 {

/// The metric `speaker_similarity`. Definition: core/docs/reference/metrics.md.
Component<Metric> speaker_similarity();

}  // namespace s2s::wav2vec2
