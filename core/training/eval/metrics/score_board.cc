#include "eval/metrics/score_board.h"

#include <algorithm>
#include <set>

#include "eval/text/text_normalizer.h"
#include "eval/text/unicode_text.h"
#include "s2s/error.h"

namespace s2s {

namespace {

/// JSON has no NaN, so an undefined rate becomes null.
nlohmann::ordered_json number_or_null(double value) {
  if (std::isnan(value)) return nullptr;
  return value;
}

nlohmann::ordered_json json_of(const TextScores& scores) {
  return {{"examples", scores.num_examples},
          {"bleu", scores.bleu.score},
          {"wer", number_or_null(scores.words.rate())},
          {"cer", number_or_null(scores.characters.rate())},
          {"substitutions", scores.words.substitutions},
          {"deletions", scores.words.deletions},
          {"insertions", scores.words.insertions},
          {"reference_words", scores.words.reference_length},
          {"exact_rate", scores.exact_rate()},
          {"empty", scores.num_empty}};
}

}  // namespace

const char* name_of(TextSource source) {
  switch (source) {
    case TextSource::kTextChannel:
      return "text_channel";
    case TextSource::kModelAudio:
      return "model";
    case TextSource::kReferenceAudio:
      return "reference";
    case TextSource::kRoundTripAudio:
      return "round_trip";
  }
  S2S_ASSERT(false, "every source has a name");
}

const std::optional<std::string>& text_of(const SpokenTexts& texts, TextSource source) {
  switch (source) {
    case TextSource::kTextChannel:
      return texts.text_channel;
    case TextSource::kModelAudio:
      return texts.heard_model;
    case TextSource::kReferenceAudio:
      return texts.heard_reference;
    case TextSource::kRoundTripAudio:
      return texts.heard_round_trip;
  }
  S2S_ASSERT(false, "every source has a text");
}

double TextScores::exact_rate() const {
  if (num_examples == 0) return 0;
  return static_cast<double>(num_exact) / static_cast<double>(num_examples);
}

void ScoreBoard::Sums::add(const std::string& reference, const std::string& hypothesis) {
  const ErrorCounts errors = word_errors(reference, hypothesis);
  bleu.add(hypothesis, reference);
  counts.words += errors;
  counts.characters +=
      character_errors(collapse_white_space(reference), collapse_white_space(hypothesis));
  ++counts.num_examples;
  counts.num_exact += errors.errors() == 0 ? 1 : 0;
  counts.num_empty += split_words(hypothesis).empty() ? 1 : 0;
}

TextScores ScoreBoard::Sums::scores() const {
  TextScores result = counts;
  result.bleu = bleu.score();
  return result;
}

void ScoreBoard::add(const SpokenTexts& texts) {
  const std::string reference = normalize_english(texts.reference);
  for (size_t i = 0; i < kTextSources.size(); ++i) {
    const std::optional<std::string>& hypothesis = text_of(texts, kTextSources[i]);
    if (hypothesis) sums_[i].add(reference, normalize_english(with_unknown_words(*hypothesis)));
  }
  if (texts.text_channel && texts.heard_model) {
    agreement_.add(normalize_english(with_unknown_words(*texts.text_channel)),
                   normalize_english(*texts.heard_model));
  }
  if (texts.user_channel) {
    user_.add(normalize_english(texts.user_reference),
              normalize_english(with_unknown_words(*texts.user_channel)));
  }
}

TextScores ScoreBoard::scores(TextSource source) const {
  return sums_[static_cast<size_t>(source)].scores();
}

TextScores ScoreBoard::agreement() const { return agreement_.scores(); }

nlohmann::ordered_json ScoreBoard::to_json() const {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  const TextScores text = scores(TextSource::kTextChannel);
  const TextScores audio = scores(TextSource::kModelAudio);
  if (text.num_examples > 0) out["txt_bleu"] = text.bleu.score;
  if (audio.num_examples > 0) out["asr_bleu"] = audio.bleu.score;
  for (const TextSource source : kTextSources) {
    const TextScores result = scores(source);
    if (result.num_examples > 0) out[name_of(source)] = json_of(result);
  }
  const TextScores channels = agreement();
  if (channels.num_examples > 0) out["text_audio_agreement"] = json_of(channels);
  const TextScores user = user_scores();
  if (user.num_examples > 0) out["user_text"] = json_of(user);
  return out;
}

bool names_answer(const std::string& reference, const std::string& hypothesis) {
  const std::vector<std::string> words = split_words(normalize_english(hypothesis));
  if (words.empty()) return false;
  const std::set<std::string> said(words.begin(), words.end());
  for (size_t begin = 0; begin <= reference.size();) {
    const size_t end = std::min(reference.find(';', begin), reference.size());
    const auto wanted = split_words(normalize_english(reference.substr(begin, end - begin)));
    if (std::all_of(wanted.begin(), wanted.end(),
                    [&said](const std::string& word) { return said.contains(word); })) {
      return true;
    }
    begin = end + 1;
  }
  return false;
}

}  // namespace s2s
