#include "eval/metrics/example_measures.h"

#include "eval/text/text_normalizer.h"
#include "eval/text/unicode_text.h"

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

class ChannelMeter {
 public:
  ChannelMeter(const ReportExample& example, const ExampleMeasures& measures)
      : turns_(example.turns), measures_(measures) {}

  std::optional<ChannelMeasure> measure(const AudioClip& clip) const {
    if (!clip.samples_S.defined()) return {};
    return measure(find_speech(clip.samples_S, clip.sample_rate_hz));
  }

  ChannelMeasure measure(std::vector<SpeechSegment> speech) const {
    ChannelMeasure out;
    out.speech = std::move(speech);
    out.turn_taking =
        count_turn_taking({turns_, measures_.user_speech, out.speech, measures_.duration_s});
    return out;
  }

 private:
  const std::vector<Turn>& turns_;
  const ExampleMeasures& measures_;
};

double longest_s(const ReportExample& example) {
  return std::max({seconds(example.user), seconds(example.answer), seconds(example.reference),
                   seconds(example.round_trip)});
}

}  // namespace

void keep_times_only(ReportExample& example) {
  SpokenTimes times;
  times.duration_s = longest_s(example);
  for (const auto& [clip, speech] :
       {std::pair(&example.user, &times.user), std::pair(&example.answer, &times.answer)}) {
    if (clip->samples_S.defined()) {
      *speech = find_speech(clip->samples_S, clip->sample_rate_hz);
    }
  }
  example.times = std::move(times);
  for (AudioClip* const clip :
       {&example.user, &example.answer, &example.reference, &example.round_trip}) {
    *clip = {};
  }
}

ExampleMeasures measure(const ReportExample& example) {
  ExampleMeasures out;
  out.duration_s = example.times ? example.times->duration_s : longest_s(example);
  if (example.times) {
    out.user_speech = example.times->user;
  } else if (example.user.samples_S.defined()) {
    out.user_speech = find_speech(example.user.samples_S, example.user.sample_rate_hz);
  }
  const std::string reference = normalize_english(example.texts.reference);
  for (size_t i = 0; i < kTextSources.size(); ++i) {
    const std::optional<std::string>& text = text_of(example.texts, kTextSources[i]);
    if (text) out.texts[i] = measure_text(reference, normalize_english(with_unknown_words(*text)));
  }
  const ChannelMeter meter(example, out);
  out.answer = example.times ? meter.measure(example.times->answer) : meter.measure(example.answer);
  out.reference = meter.measure(example.reference);
  out.round_trip = meter.measure(example.round_trip);
  return out;
}

}  // namespace s2s
