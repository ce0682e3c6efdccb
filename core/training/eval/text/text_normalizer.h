#pragma once
// Brings English texts into one spelling before they are compared.

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/regex.h"

namespace s2s {

/// A text -> text function that scores apply to references and hypotheses alike.
using TextNormalizer = std::function<std::string(std::string_view)>;

/// Whisper's English rules: lower case; brackets and fillers dropped; contractions and titles
/// written out; number words, currencies and percentages in digits; British spellings as American;
/// symbols and diacritics dropped; white space collapsed. The list: core/docs/reference/metrics.md.
/// Source: behavior of whisper_normalizer 0.1.15, EnglishTextNormalizer.
class EnglishNormalizer {
 public:
  EnglishNormalizer();
  /// May begin or end with one blank, as its model does.
  std::string operator()(std::string_view text) const;

 private:
  struct Rule {
    Regex pattern;
    std::string replacement;
  };
  static std::string apply(const std::vector<Rule>& rules, std::string text);

  std::vector<Rule> speech_rules_;    // before symbols are dropped
  std::vector<Rule> digit_rules_;     // before number words are read
  std::vector<Rule> currency_rules_;  // after number words are read
  std::vector<Rule> leftover_rules_;  // last
};

/// EnglishNormalizer as a shared function.
TextNormalizer english_normalizer();

/// White space collapsed and trimmed, nothing else changed.
std::string collapse_white_space(std::string_view text);

}  // namespace s2s
