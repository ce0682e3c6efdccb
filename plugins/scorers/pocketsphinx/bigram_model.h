#pragma once
// A bigram language model with absolute discounting, as an ARPA file.

#include <map>
#include <string>
#include <vector>

namespace s2s::pocketsphinx {

using Sentence = std::vector<std::string>;

/// Counts of words and pairs. Sentences begin with <s> and end with </s>.
class BigramModel {
 public:
  /// discount: the count in [0, 1) that is moved from every seen pair to unseen pairs.
  explicit BigramModel(double discount) : discount_(discount) {}
  void add(const Sentence& sentence);
  /// Adds a part of a sentence between unknown words. Its pairs count, but not its ends.
  void add_part(const Sentence& words);
  bool empty() const { return unigrams_.empty(); }
  /// Returns the model as an ARPA file. P(b | a) = (c(a b) - D) / c(a .) for seen pairs, otherwise
  /// bow(a) P(b), where bow(a) makes the sum 1. P(b) is the relative frequency of b.
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
