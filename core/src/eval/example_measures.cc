#include "eval/example_measures.h"

#include "eval/unicode_text.h"

namespace s2s {

namespace {

double seconds(const AudioClip& clip) {
  if (!clip.samples_S.defined()) return 0;
  return static_cast<double>(clip.samples_S.numel()) / static_cast<double>(clip.sample_rate_hz);
}

TextMeasure measure_text(const std::string& reference, const std::string& hypothesis) {
  TextMeasure measure;
  measure.alignment = align_words(split_words(reference), split_words(hypothesis));
  measure.words = count_errors(measure.alignment);
  measure.bleu = sentence_bleu(hypothesis, reference).score;
  return measure;
}

/// Measures agent channels of one dialogue.
class ChannelMeter {
 public:
  ChannelMeter(const ReportExample& example, const ExampleMeasures& measures,
               const MeasureOptions& options)
      : turns_(example.turns), measures_(measures), options_(options) {}

  std::optional<ChannelMeasure> measure(const AudioClip& clip) const {
    if (!clip.samples_S.defined()) return {};
    ChannelMeasure out;
    out.speech = find_speech(clip.samples_S, clip.sample_rate_hz, options_.voice_activity);
    out.turn_taking = count_turn_taking(
        {turns_, measures_.user_speech, out.speech, measures_.duration_s}, options_.duplex);
    return out;
  }

 private:
  const std::vector<Turn>& turns_;
  const ExampleMeasures& measures_;
  const MeasureOptions& options_;
};

}  // namespace

ExampleMeasures measure(const ReportExample& example, const TextNormalizer& normalizer,
                        const MeasureOptions& options) {
  ExampleMeasures out;
  out.duration_s = std::max({seconds(example.user), seconds(example.answer),
                             seconds(example.reference), seconds(example.round_trip)});
  if (example.user.samples_S.defined()) {
    out.user_speech =
        find_speech(example.user.samples_S, example.user.sample_rate_hz, options.voice_activity);
  }
  const std::string reference = normalizer(example.texts.reference);
  for (size_t i = 0; i < kTextSources.size(); ++i) {
    const std::optional<std::string>& text = text_of(example.texts, kTextSources[i]);
    if (text) out.texts[i] = measure_text(reference, normalizer(*text));
  }
  const ChannelMeter meter(example, out, options);
  out.answer = meter.measure(example.answer);
  out.reference = meter.measure(example.reference);
  out.round_trip = meter.measure(example.round_trip);
  return out;
}

}  // namespace s2s
