#include "bigram_model.h"

#include <fmt/format.h>

#include <cmath>

namespace s2s::pocketsphinx {

namespace {

constexpr double kLogZero = -99;  // probability 0 in the ARPA format

double log10_or_zero(double probability) {
  return probability > 0 ? std::log10(probability) : kLogZero;
}

/// Statistics of a word as the first word of pairs.
struct Context {
  double discount = 0;
  double back_off = 1;
  double total = 0;
};

}  // namespace

void BigramModel::count_pair(const std::string& first, const std::string& second) {
  ++followers_[first][second];
}

void BigramModel::add_part(const Sentence& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    ++unigrams_[words[i]];
    ++total_;
    if (i > 0) count_pair(words[i - 1], words[i]);
  }
}

void BigramModel::add(const Sentence& sentence) {
  if (sentence.empty()) return;
  add_part(sentence);
  count_pair("<s>", sentence.front());
  count_pair(sentence.back(), "</s>");
  ++unigrams_["</s>"];
  ++total_;
}

std::string BigramModel::arpa() const {
  const auto probability = [&](const std::string& word) { return unigrams_.at(word) / total_; };
  std::map<std::string, Context> contexts;
  size_t num_pairs = 0;
  for (const auto& [first, counts] : followers_) {
    Context context;
    double seen = 0;
    for (const auto& [second, count] : counts) {
      context.total += count;
      seen += probability(second);
    }
    // If every word has followed this word, no probability is left for unseen pairs.
    const bool gives = counts.size() < unigrams_.size();
    context.discount = gives ? discount_ : 0;
    const double given = context.discount * static_cast<double>(counts.size()) / context.total;
    context.back_off = gives ? given / (1 - seen) : 0;
    num_pairs += counts.size();
    contexts[first] = context;
  }
  std::string out = fmt::format("\\data\\\nngram 1={}\nngram 2={}\n\n\\1-grams:\n",
                                unigrams_.size() + 1, num_pairs);
  const auto unigram_line = [&](const std::string& word, double p) {
    const auto it = contexts.find(word);
    const double back_off = it == contexts.end() ? 1 : it->second.back_off;
    out += fmt::format("{:.6f} {} {:.6f}\n", log10_or_zero(p), word, log10_or_zero(back_off));
  };
  unigram_line("<s>", 0);
  for (const auto& entry : unigrams_) unigram_line(entry.first, probability(entry.first));
  out += "\n\\2-grams:\n";
  for (const auto& [first, counts] : followers_) {
    const Context& context = contexts.at(first);
    for (const auto& [second, count] : counts) {
      const double p = (count - context.discount) / context.total;
      out += fmt::format("{:.6f} {} {}\n", log10_or_zero(p), first, second);
    }
  }
  return out + "\n\\end\\\n";
}

}  // namespace s2s::pocketsphinx
