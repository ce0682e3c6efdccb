#pragma once
// Computes all measures of one example.

#include <array>
#include <optional>
#include <vector>

#include "eval/metrics/duplex_metrics.h"
#include "eval/metrics/report_example.h"
#include "eval/metrics/voice_activity.h"

namespace s2s {

/// A text compared with the example's reference, both normalized.
struct TextMeasure {
  std::vector<WordEdit> alignment;
  ErrorCounts words;
  double bleu = 0;
};

/// An agent channel compared with the user's channel.
struct ChannelMeasure {
  std::vector<SpeechSegment> speech;
  DuplexCounts turn_taking;
};

struct ExampleMeasures {
  double duration_s = 0;  // of the longest clip
  std::vector<SpeechSegment> user_speech;
  std::array<std::optional<TextMeasure>, kTextSources.size()> texts;
  std::optional<ChannelMeasure> answer, reference, round_trip;

  const std::optional<TextMeasure>& text(TextSource source) const {
    return texts[static_cast<size_t>(source)];
  }
};

/// Replaces the clips by the speech times that turn-taking metrics need.
void keep_times_only(ReportExample& example);

ExampleMeasures measure(const ReportExample& example);

}  // namespace s2s
