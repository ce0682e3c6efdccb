#include "s2s_run/score/text_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace s2s::run {

TextSums& TextSums::operator+=(const TextSums& other) {
  words += other.words;
  characters += other.characters;
  bleu += other.bleu;
  exact += other.exact;
  examples += other.examples;
  return *this;
}

TextValues values_of(const TextSums& sums) {
  return {sums.words.rate(), sums.characters.rate(), sums.bleu.score().score,
          static_cast<double>(sums.exact) / static_cast<double>(sums.examples)};
}

std::string normalized(const std::string& text, const std::string& normalizer) {
  if (normalizer == "english") return normalize_english(with_unknown_words(text));
  return normalizer == "basic" ? normalize_basic(with_unknown_words(text)) : text;
}

std::vector<TextSums> text_sums(const Predictions& predictions, const std::string& normalizer) {
  std::vector<TextSums> out;
  for (const Prediction& example : predictions.examples) {
    const std::string hypothesis = normalized(example.hypothesis, normalizer);
    const std::string reference = normalized(example.reference, normalizer);
    TextSums sums;
    sums.words = word_errors(reference, hypothesis);
    sums.characters =
        character_errors(collapse_white_space(reference), collapse_white_space(hypothesis));
    sums.bleu.add(hypothesis, reference);
    sums.exact = split_words(hypothesis) == split_words(reference) ? 1 : 0;
    sums.examples = 1;
    out.push_back(sums);
  }
  return out;
}

TextSums sum_of(const std::vector<TextSums>& examples) {
  TextSums sum;
  for (const TextSums& example : examples) sum += example;
  return sum;
}

std::vector<TextValues> bootstrap(const std::vector<TextSums>& examples, int64_t count,
                                  uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<TextValues> samples;
  for (int64_t i = 0; i < count; ++i) {
    TextSums sum;
    for (size_t n = 0; n < examples.size(); ++n) sum += examples[generator() % examples.size()];
    samples.push_back(values_of(sum));
  }
  return samples;
}

Interval interval_of(const std::vector<TextValues>& samples, size_t score) {
  std::vector<double> values;
  for (const TextValues& sample : samples) {
    if (!std::isnan(sample[score])) values.push_back(sample[score]);
  }
  if (values.empty()) return {std::nan(""), std::nan("")};
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const auto last = static_cast<double>(values.size() - 1);
    return values[static_cast<size_t>(std::lround(share * last))];
  };
  return {at(0.025), at(0.975)};
}

double p_value(const std::vector<TextValues>& first, const std::vector<TextValues>& second,
               size_t score, double difference) {
  std::vector<double> sizes;
  for (size_t i = 0; i < first.size(); ++i) {
    const double size = std::abs(second[i][score] - first[i][score]);
    if (std::isfinite(size)) sizes.push_back(size);
  }
  if (sizes.empty()) return std::nan("");
  if (difference == 0) return 1;
  const auto count = static_cast<double>(sizes.size());
  const double mean = std::accumulate(sizes.begin(), sizes.end(), 0.0) / count;
  const auto larger = std::count_if(
      sizes.begin(), sizes.end(), [&](double size) { return size - mean > std::abs(difference); });
  return static_cast<double>(larger + 1) / (count + 1);
}

}  // namespace s2s::run
