#pragma once
// BLEU with the results of sacrebleu: tokenizer 13a, exponential smoothing, one reference.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// Splits a segment into tokens as mteval-v13a does (the default of sacrebleu). Case is kept.
/// Source: sacrebleu 2.6.0, tokenizers 13a and re.
std::vector<std::string> tokenize_13a(std::string_view segment);

/// A score with its components. `score` and `precisions` are in percent.
struct BleuScore {
  static constexpr size_t kMaxOrder = 4;
  double score = 0;
  double brevity_penalty = 0;
  std::array<double, kMaxOrder> precisions{};
  std::array<int64_t, kMaxOrder> matches{};
  std::array<int64_t, kMaxOrder> totals{};
  int64_t hypothesis_tokens = 0;
  int64_t reference_tokens = 0;
};

/// Matching n-grams, summed over segments.
class BleuCounts {
 public:
  /// Adds one segment.
  void add(std::string_view hypothesis, std::string_view reference);
  BleuCounts& operator+=(const BleuCounts& other);
  /// effective_order: uses only the orders for which the hypothesis has n-grams.
  /// sacrebleu.sentence_bleu does so, corpus_bleu does not.
  BleuScore score(bool effective_order = false) const;

 private:
  BleuScore counts_;
};

/// Equals sacrebleu.sentence_bleu(hypothesis, [reference]).
BleuScore sentence_bleu(std::string_view hypothesis, std::string_view reference);

}  // namespace s2s
