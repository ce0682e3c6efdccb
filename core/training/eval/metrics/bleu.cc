#include "s2s/scores/bleu.h"

#include <cmath>
#include <map>

#include "eval/text/unicode_text.h"
#include "s2s/scores/texts.h"

namespace s2s {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_point(char c) { return c == '.' || c == ','; }

/// Returns true for ASCII symbols that are always tokens by themselves. '.', ',', '-' and the
/// apostrophe are not among them.
bool is_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

/// Replaces every adjacent pair of characters that `matches` accepts by left, `glue` and right. As
/// in a regular expression, matches do not overlap.
template <class Matches>
std::string space_pairs(const std::string& text, Matches matches, bool before, bool after) {
  std::string out;
  out.reserve(text.size() * 2);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && matches(text[i], text[i + 1])) {
      if (before) out += ' ';
      out += text[i];
      out += ' ';
      out += text[++i];
      if (after) out += ' ';
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string space_symbols(const std::string& text) {
  std::string out;
  out.reserve(text.size() * 2);
  for (const char c : text) {
    if (is_symbol(c)) {
      out += ' ';
      out += c;
      out += ' ';
    } else {
      out += c;
    }
  }
  return out;
}

/// As Python's str.rstrip().
std::string without_trailing_space(std::string_view text) {
  std::vector<char32_t> code_points = decode_utf8(text);
  while (!code_points.empty() && is_white_space(code_points.back())) code_points.pop_back();
  return encode_utf8(code_points);
}

std::string unescape(std::string text) {
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  replace_all(text, "&quot;", "\"");
  replace_all(text, "&amp;", "&");
  replace_all(text, "&lt;", "<");
  replace_all(text, "&gt;", ">");
  return text;
}

using NgramCounts = std::map<std::vector<std::string>, int64_t>;

NgramCounts count_ngrams(const std::vector<std::string>& tokens) {
  NgramCounts counts;
  for (size_t order = 1; order <= BleuScore::kMaxOrder; ++order) {
    for (size_t i = 0; i + order <= tokens.size(); ++i) {
      const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(i);
      ++counts[{first, first + static_cast<std::ptrdiff_t>(order)}];
    }
  }
  return counts;
}

double brevity_penalty(int64_t hypothesis_tokens, int64_t reference_tokens) {
  if (hypothesis_tokens >= reference_tokens) return 1;
  if (hypothesis_tokens == 0) return 0;
  return std::exp(1 -
                  static_cast<double>(reference_tokens) / static_cast<double>(hypothesis_tokens));
}

}  // namespace

std::vector<std::string> tokenize_13a(std::string_view segment) {
  std::string text = space_symbols(" " + unescape(without_trailing_space(segment)) + " ");
  text = space_pairs(
      text, [](char a, char b) { return !is_digit(a) && is_point(b); }, false, true);
  text = space_pairs(
      text, [](char a, char b) { return is_point(a) && !is_digit(b); }, true, false);
  text = space_pairs(
      text, [](char a, char b) { return is_digit(a) && b == '-'; }, false, true);
  return split_words(text);
}

void BleuCounts::add(std::string_view hypothesis, std::string_view reference) {
  const std::vector<std::string> hypothesis_tokens = tokenize_13a(hypothesis);
  const std::vector<std::string> reference_tokens = tokenize_13a(reference);
  const NgramCounts wanted = count_ngrams(reference_tokens);
  for (const auto& [ngram, count] : count_ngrams(hypothesis_tokens)) {
    const size_t order = ngram.size() - 1;
    counts_.totals[order] += count;
    const auto found = wanted.find(ngram);
    if (found != wanted.end()) counts_.matches[order] += std::min(count, found->second);
  }
  counts_.hypothesis_tokens += static_cast<int64_t>(hypothesis_tokens.size());
  counts_.reference_tokens += static_cast<int64_t>(reference_tokens.size());
}

BleuCounts& BleuCounts::operator+=(const BleuCounts& other) {
  for (size_t i = 0; i < BleuScore::kMaxOrder; ++i) {
    counts_.matches[i] += other.counts_.matches[i];
    counts_.totals[i] += other.counts_.totals[i];
  }
  counts_.hypothesis_tokens += other.counts_.hypothesis_tokens;
  counts_.reference_tokens += other.counts_.reference_tokens;
  return *this;
}

BleuScore BleuCounts::score(bool effective_order) const {
  BleuScore result = counts_;
  result.brevity_penalty = brevity_penalty(result.hypothesis_tokens, result.reference_tokens);
  const bool any_match = std::any_of(result.matches.begin(), result.matches.end(),
                                     [](int64_t count) { return count > 0; });
  if (!any_match) return result;
  double smoothing = 1;
  double log_sum = 0;
  size_t num_orders = BleuScore::kMaxOrder;
  for (size_t i = 0; i < BleuScore::kMaxOrder; ++i) {
    if (result.totals[i] == 0) {
      // An order without n-grams makes the score zero, unless effective_order skips it.
      if (!effective_order) return result;
      num_orders = i;
      break;
    }
    const auto total = static_cast<double>(result.totals[i]);
    if (result.matches[i] == 0) smoothing *= 2;
    result.precisions[i] = result.matches[i] == 0
                               ? 100 / (smoothing * total)
                               : 100 * static_cast<double>(result.matches[i]) / total;
    log_sum += std::log(result.precisions[i]);
  }
  result.score = result.brevity_penalty * std::exp(log_sum / static_cast<double>(num_orders));
  return result;
}

BleuScore sentence_bleu(std::string_view hypothesis, std::string_view reference) {
  BleuCounts counts;
  counts.add(hypothesis, reference);
  return counts.score(true);
}

}  // namespace s2s
