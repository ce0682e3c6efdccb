#pragma once
// Scores of texts against the expected ones. Definitions: core/docs/reference/metrics.md, "Texts".

#include "s2s/kinds/metric.h"
#include "s2s/registry.h"

namespace s2s::text_scores {

Component<Metric> bleu();
/// Word error rate.
Component<Metric> wer();
/// Character error rate.
Component<Metric> cer();
/// The share of texts without any wrong word.
Component<Metric> exact();
/// The share of questions whose answer names one of the expected answers.
Component<Metric> named_answers();

}  // namespace s2s::text_scores
