#pragma once
// What metrics are given of one validated example.

#include <vector>

#include "eval/metrics/named_metric.h"
#include "eval/metrics/report_example.h"

namespace s2s {

/// An example with one of its hypotheses, for the metrics of `scope`.
struct ScopedExample {
  MetricScope scope = MetricScope::kExamples;
  MetricChannel channel = MetricChannel::kExample;
  MetricExample example;
};

/// Returns one for each text, each audio, and the example itself. `speech`: speech_of(example).
std::vector<ScopedExample> scoped_examples(const ReportExample& example,
                                           const ExampleSpeech& speech);

/// Returns the words of a text channel of frames of `frame_s` seconds.
std::vector<TimedWord> timed_words(const std::vector<TokenMark>& tokens, double frame_s);

}  // namespace s2s
