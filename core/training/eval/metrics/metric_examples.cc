#include "eval/metrics/metric_examples.h"

#include <utility>

#include "s2s/scores/texts.h"

namespace s2s {
namespace {

/// Makes the hypotheses of one example. What all of them share is made once.
class ScopedExamples {
 public:
  ScopedExamples(const ReportExample& from, const ExampleSpeech& speech)
      : from_(from), speech_(speech) {
    shared_.id = from.id;
    shared_.data_set = from.data_set;
    shared_.turns = from.turns;
    shared_.duration_s = speech.duration_s;
    shared_.reference.text = from.texts.reference;
    shared_.reference.normalized = normalize_english(from.texts.reference);
    shared_.reference.audio = from.reference;
    if (speech.reference) shared_.reference.speech = *speech.reference;
    add_tokens(from.reference_tokens, shared_.reference);
    shared_.user.audio = from.user;
    shared_.user.speech = speech.user;
    shared_.user.text = from.texts.user_reference;
    shared_.user.normalized = normalize_english(from.texts.user_reference);
    if (from.texts.user_channel) shared_.user_hypothesis = written(*from.texts.user_channel);
  }

  std::vector<ScopedExample> all() {
    for (const TextSource source : kTextSources) add_text(source);
    add_agreement();
    add_user();
    for (const TextSource source : kTextSources) add_voice(source);
    add_example();
    return std::move(out_);
  }

 private:
  static Spoken written(const std::string& text) {
    Spoken out;
    out.text = text;
    out.normalized = normalize_english(with_unknown_words(text));
    return out;
  }

  void add_tokens(const std::vector<TokenMark>& tokens, Spoken& to) const {
    to.tokens = tokens;
    to.words = timed_words(tokens, from_.frame_s);
  }

  void add(MetricScope scope, MetricChannel channel, Spoken hypothesis) {
    out_.push_back({scope, channel, shared_});
    out_.back().example.hypothesis = std::move(hypothesis);
  }

  void add_text(TextSource source) {
    const std::optional<std::string>& text = text_of(from_.texts, source);
    if (!text) return;
    Spoken hypothesis = written(*text);
    if (source == TextSource::kTextChannel) add_tokens(from_.answer_tokens, hypothesis);
    if (source == TextSource::kModelAudio) add_audio(source, hypothesis);
    add(MetricScope::kTexts, static_cast<MetricChannel>(source), std::move(hypothesis));
  }

  void add_agreement() {
    const SpokenTexts& texts = from_.texts;
    if (!texts.text_channel || !texts.heard_model) return;
    Spoken heard;
    heard.text = texts.heard_model;
    heard.normalized = normalize_english(*texts.heard_model);
    add(MetricScope::kTexts, MetricChannel::kAgreement, std::move(heard));
    out_.back().example.reference = written(*texts.text_channel);
  }

  void add_user() {
    if (!from_.texts.user_channel) return;
    add(MetricScope::kTexts, MetricChannel::kUserText, shared_.user_hypothesis);
    out_.back().example.reference = shared_.user;
  }

  /// Returns whether there is audio.
  bool add_audio(TextSource source, Spoken& to) const {
    const auto [clip, speech] =
        source == TextSource::kModelAudio       ? std::pair(&from_.answer, &speech_.answer)
        : source == TextSource::kReferenceAudio ? std::pair(&from_.reference, &speech_.reference)
                                                : std::pair(&from_.round_trip, &speech_.round_trip);
    if (source == TextSource::kTextChannel || !*speech) return false;
    to.audio = *clip;
    to.speech = **speech;
    const auto heard = from_.heard_words.find(source);
    if (heard != from_.heard_words.end()) to.heard = heard->second;
    return true;
  }

  void add_voice(TextSource source) {
    Spoken hypothesis;
    if (!add_audio(source, hypothesis)) return;
    hypothesis.text = text_of(from_.texts, source);
    if (source == TextSource::kModelAudio) add_tokens(from_.answer_tokens, hypothesis);
    add(MetricScope::kVoices, static_cast<MetricChannel>(source), std::move(hypothesis));
  }

  void add_example() {
    Spoken hypothesis;
    if (from_.texts.text_channel) hypothesis = written(*from_.texts.text_channel);
    add_tokens(from_.answer_tokens, hypothesis);
    add_audio(TextSource::kModelAudio, hypothesis);
    add(MetricScope::kExamples, MetricChannel::kExample, std::move(hypothesis));
  }

  const ReportExample& from_;
  const ExampleSpeech& speech_;
  MetricExample shared_;
  std::vector<ScopedExample> out_;
};

}  // namespace

std::vector<ScopedExample> scoped_examples(const ReportExample& example,
                                           const ExampleSpeech& speech) {
  return ScopedExamples(example, speech).all();
}

std::vector<TimedWord> timed_words(const std::vector<TokenMark>& tokens, double frame_s) {
  std::vector<TimedWord> words;
  bool begins = true;
  for (const TokenMark& token : tokens) {
    begins = begins || token.kind != TokenMark::Kind::kText;
    if (token.kind != TokenMark::Kind::kText) continue;
    const std::string text = collapse_white_space(token.text);
    begins = begins || token.text.starts_with(' ');
    const double start_s = static_cast<double>(token.frame) * frame_s;
    if (begins && !text.empty()) words.push_back({"", start_s, start_s});
    if (text.empty()) continue;
    words.back().text += text;
    words.back().end_s = static_cast<double>(token.frame + 1) * frame_s;
    begins = false;
  }
  return words;
}

}  // namespace s2s
