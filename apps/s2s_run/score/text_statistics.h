#pragma once
// Scores of texts from sums over examples, so that samples of the examples have scores, too.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "s2s/scores/bleu.h"
#include "s2s/scores/texts.h"
#include "s2s_run/score/prediction_files.h"

namespace s2s::run {

/// What of the scores of texts is summed.
struct TextSums {
  ErrorCounts words, characters;
  BleuCounts bleu;
  int64_t exact = 0, examples = 0;
  TextSums& operator+=(const TextSums& other);
};

struct TextScoreInfo {
  const char* name;
  bool is_share;  // shown in percent
};
constexpr std::array<TextScoreInfo, 4> kTextScores = {
    {{"wer", true}, {"cer", true}, {"bleu", false}, {"exact", true}}};
/// The scores, in the order of kTextScores.
using TextValues = std::array<double, kTextScores.size()>;

/// NaN: there is nothing to measure.
TextValues values_of(const TextSums& sums);

/// How texts are normalized before they are compared: "english" and "basic" are Whisper's.
std::string normalized(const std::string& text, const std::string& normalizer);

/// The sums of each example.
std::vector<TextSums> text_sums(const Predictions& predictions, const std::string& normalizer);
TextSums sum_of(const std::vector<TextSums>& examples);

/// The scores of `count` samples with replacement, as many examples each. The same seed and number
/// of examples give the same samples, so that two systems are compared on equal ones.
std::vector<TextValues> bootstrap(const std::vector<TextSums>& examples, int64_t count,
                                  uint64_t seed);

/// The 95 % interval of a score over samples.
struct Interval {
  double low = 0, high = 0;
};
Interval interval_of(const std::vector<TextValues>& samples, size_t score);

/// How probable a larger difference is if both systems are equal (paired bootstrap); 1 where there
/// is none. Samples in which there is nothing to measure do not count. Source: sacrebleu 2.6.0,
/// significance.py (_paired_bs_test), but for a difference of 0.
double p_value(const std::vector<TextValues>& first, const std::vector<TextValues>& second,
               size_t score, double difference);

}  // namespace s2s::run
