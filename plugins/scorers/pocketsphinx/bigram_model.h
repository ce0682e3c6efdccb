#pragma once
// A bigram language model with absolute discounting, as an ARPA file.

#include <map>
#include <string>
#include <vector>

namespace s2s::pocketsphinx {

using Sentence = std::vector<std::string>;

/// What follows what. Sentences are bounded by <s> and </s>.
class BigramModel {
 public:
  /// discount: what every seen pair gives away to pairs that were not seen, in
  /// [0, 1).
  explicit BigramModel(double discount) : discount_(discount) {}
  void add(const Sentence& sentence);
  /// Part of a sentence, between words that are left out: its pairs count, its
  /// ends do not.
  void add_part(const Sentence& words);
  bool empty() const { return unigrams_.empty(); }
  /// P(b | a) = (c(a b) - D) / c(a .) for seen pairs, else bow(a) P(b), with
  /// bow(a) such that all add up to one. P(b) is the relative frequency of b.
  /// Source: Ney, Essen and Kneser 1994, in back-off form; format: ARPA.
  std::string arpa() const;

 private:
  using Counts = std::map<std::string, double>;
  void count_pair(const std::string& first, const std::string& second);

  double discount_;
  Counts unigrams_;
  double total_ = 0;
  std::map<std::string, Counts> followers_;
};

}  // namespace s2s::pocketsphinx
