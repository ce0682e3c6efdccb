#pragma once
// Scores of written and spoken answers over a set of examples, with the scores of reference audio
// and codec round trip as upper bounds.

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/metrics/bleu.h"
#include "eval/metrics/word_alignment.h"

namespace s2s {

/// Texts of one example. A text that was not produced is not set, which differs from "".
struct SpokenTexts {
  std::string reference;                       // the reference answer
  std::optional<std::string> text_channel;     // the model's text channel
  std::optional<std::string> heard_model;      // transcript of the model's audio
  std::optional<std::string> heard_reference;  // transcript of the reference audio
  // Transcript of the codec round trip of the reference.
  std::optional<std::string> heard_round_trip;
  std::string user_reference;               // what the user said
  std::optional<std::string> user_channel;  // what the model wrote of it
};

/// The source of a text, in the order of the report's columns.
enum class TextSource { kTextChannel, kModelAudio, kReferenceAudio, kRoundTripAudio };
constexpr std::array kTextSources = {TextSource::kTextChannel, TextSource::kModelAudio,
                                     TextSource::kReferenceAudio, TextSource::kRoundTripAudio};

/// Returns "text_channel", "model", "reference" or "round_trip".
const char* name_of(TextSource source);
const std::optional<std::string>& text_of(const SpokenTexts& texts, TextSource source);

/// Scores of one source against the references. Rates are fractions; BLEU is in percent.
struct TextScores {
  int64_t num_examples = 0;
  BleuScore bleu;
  ErrorCounts words;
  ErrorCounts characters;
  int64_t num_exact = 0;  // examples without any word error
  int64_t num_empty = 0;  // examples without any word

  double exact_rate() const;
};

/// Sums examples. References and hypotheses are normalized with normalize_english.
class ScoreBoard {
 public:
  void add(const SpokenTexts& texts);
  /// Returns the scores against the references. A source without examples has num_examples 0.
  TextScores scores(TextSource source) const;
  /// Returns the scores of the transcript of the model's audio against the model's text channel.
  /// They show whether both channels agree.
  TextScores agreement() const;
  /// Returns the scores of what the model wrote of the user's words against those words.
  TextScores user_scores() const { return user_.scores(); }
  /// Returns one JSON object: txt_bleu, asr_bleu, wer, ... for each source with examples.
  nlohmann::ordered_json to_json() const;

 private:
  struct Sums {
    BleuCounts bleu;
    TextScores counts;
    void add(const std::string& reference, const std::string& hypothesis);
    TextScores scores() const;
  };
  std::array<Sums, kTextSources.size()> sums_;
  Sums agreement_;
  Sums user_;
};

/// Whether an answer names one of the texts that `reference` lists between semicolons: all words of
/// that text occur in the answer, in any order, both normalized. An answer without a word names
/// none. Source: NeMo speechlm2 parts/metrics/results_logger.py.
bool names_answer(const std::string& reference, const std::string& hypothesis);

}  // namespace s2s
