#pragma once
// Scores of what was said and heard, over a set of examples, the model beside its ceilings.

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eval/metrics/bleu.h"
#include "eval/metrics/word_alignment.h"

namespace s2s {

/// Texts of one example. What was not produced is left empty (not the same as "").
struct SpokenTexts {
  std::string reference;                        // what the agent should say
  std::optional<std::string> text_channel;      // what the model wrote
  std::optional<std::string> heard_model;       // the scorer on the model's audio
  std::optional<std::string> heard_reference;   // ... on the reference audio
  std::optional<std::string> heard_round_trip;  // ... on the reference through the codec
};

/// What a text came from, in the order of the columns of a report.
enum class TextSource { kTextChannel, kModelAudio, kReferenceAudio, kRoundTripAudio };
constexpr std::array kTextSources = {TextSource::kTextChannel, TextSource::kModelAudio,
                                     TextSource::kReferenceAudio, TextSource::kRoundTripAudio};

/// "text_channel", "model", "reference", "round_trip".
const char* name_of(TextSource source);
/// The example's text from a source.
const std::optional<std::string>& text_of(const SpokenTexts& texts, TextSource source);

/// Scores of one source against the references; rates are fractions, BLEU is in percent.
struct TextScores {
  int64_t num_examples = 0;
  BleuScore bleu;
  ErrorCounts words;
  ErrorCounts characters;
  int64_t num_exact = 0;  // examples without any word error
  int64_t num_empty = 0;  // examples without any word

  double exact_rate() const;
};

/// Adds examples up. References and hypotheses go through normalize_english.
class ScoreBoard {
 public:
  void add(const SpokenTexts& texts);
  /// Against the references; a source that no example had has num_examples 0.
  TextScores scores(TextSource source) const;
  /// What was heard in the model's audio against what the model wrote: do the channels agree?
  TextScores agreement() const;
  /// One JSON object: txt_bleu, asr_bleu, wer, ... for each source that has examples.
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
};

}  // namespace s2s
