#pragma once
// What reports show of one example.

#include <array>
#include <optional>
#include <vector>

#include "eval/metrics/report_example.h"
#include "s2s/scores/texts.h"
#include "s2s/scores/turn_taking.h"

namespace s2s {

/// A text compared with the example's reference, both normalized.
struct TextMeasure {
  std::vector<WordEdit> alignment;
  ErrorCounts words;
  double bleu = 0;
};

struct ExampleMeasures {
  ExampleSpeech speech;
  std::array<std::optional<TextMeasure>, kTextSources.size()> texts;
  std::optional<DuplexCounts> turn_taking;  // of the answer

  const std::optional<TextMeasure>& text(TextSource source) const {
    return texts[static_cast<size_t>(source)];
  }
};

/// Finds speech in the clips, if it has not been found yet.
ExampleSpeech speech_of(const ReportExample& example);

/// Finds speech in the clips, and removes the clips unless `and_clips` is set.
void keep_speech(ReportExample& example, bool and_clips);

ExampleMeasures measure(const ReportExample& example);

}  // namespace s2s
