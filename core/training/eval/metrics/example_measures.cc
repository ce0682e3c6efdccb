#include "eval/metrics/example_measures.h"

#include <algorithm>

#include "s2s/scores/bleu.h"

namespace s2s {

namespace {

double seconds(const AudioClip& clip) {
  if (!clip.samples_S.defined()) return 0;
  return static_cast<double>(clip.samples_S.numel()) / static_cast<double>(clip.sample_rate_hz);
}

std::optional<std::vector<SpeechSegment>> speech_in(const AudioClip& clip) {
  if (!clip.samples_S.defined()) return {};
  return find_speech(clip.samples_S, clip.sample_rate_hz);
}

TextMeasure measure_text(const std::string& reference, const std::string& hypothesis) {
  TextMeasure measure;
  measure.alignment = align_words(split_words(reference), split_words(hypothesis));
  measure.words = count_errors(measure.alignment);
  measure.bleu = sentence_bleu(hypothesis, reference).score;
  return measure;
}

}  // namespace

ExampleSpeech speech_of(const ReportExample& example) {
  if (example.speech) return *example.speech;
  ExampleSpeech out;
  out.duration_s = std::max({seconds(example.user), seconds(example.answer),
                             seconds(example.reference), seconds(example.round_trip)});
  out.user = speech_in(example.user).value_or(std::vector<SpeechSegment>());
  out.answer = speech_in(example.answer);
  out.reference = speech_in(example.reference);
  out.round_trip = speech_in(example.round_trip);
  return out;
}

void keep_speech(ReportExample& example, bool and_clips) {
  example.speech = speech_of(example);
  // In a training run, a model without a voice counts as one that is silent.
  if (!example.speech->answer) example.speech->answer.emplace();
  if (and_clips) return;
  for (AudioClip* const clip :
       {&example.user, &example.answer, &example.reference, &example.round_trip}) {
    *clip = {};
  }
}

ExampleMeasures measure(const ReportExample& example) {
  ExampleMeasures out;
  out.speech = speech_of(example);
  const std::string reference = normalize_english(example.texts.reference);
  for (size_t i = 0; i < kTextSources.size(); ++i) {
    const std::optional<std::string>& text = text_of(example.texts, kTextSources[i]);
    if (text) out.texts[i] = measure_text(reference, normalize_english(with_unknown_words(*text)));
  }
  if (out.speech.answer) {
    out.turn_taking = count_turn_taking(
        {example.turns, out.speech.user, *out.speech.answer, out.speech.duration_s});
  }
  return out;
}

}  // namespace s2s
