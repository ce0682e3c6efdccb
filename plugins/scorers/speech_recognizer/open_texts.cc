#include "open_texts.h"

#include <algorithm>

namespace s2s::speech_recognizer {

OpenTexts taken_of_frame(int64_t frame, OpenTexts& open) {
  OpenTexts taken;
  std::copy_if(open.begin(), open.end(), std::back_inserter(taken),
               [&](const OpenText& one) { return one.frame == frame; });
  std::erase_if(open, [&](const OpenText& one) { return one.frame <= frame; });
  return taken;
}

OpenTexts best_of(OpenTexts open, int64_t count) {
  std::stable_sort(open.begin(), open.end(),
                   [](const OpenText& a, const OpenText& b) { return a.score > b.score; });
  open.resize(std::min(open.size(), static_cast<size_t>(count)));
  return open;
}

OpenTexts merged(const OpenTexts& open) {
  OpenTexts kept;
  for (const OpenText& one : best_of(open, static_cast<int64_t>(open.size()))) {
    const auto same = std::find_if(kept.begin(), kept.end(), [&](const OpenText& other) {
      return other.place.text == one.place.text && other.frame == one.frame;
    });
    if (same == kept.end()) {
      kept.push_back(one);
    } else {
      same->score = log_add(same->score, one.score);
    }
  }
  return kept;
}

std::vector<Hypothesis> hypotheses_of(const OpenTexts& open, const BeamTexts& texts,
                                      bool score_norm) {
  OpenTexts order = open;
  const auto rank = [&](const OpenText& one) {
    return score_norm ? one.score / static_cast<double>(texts.length(one.place.text) + 1)
                      : one.score;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const OpenText& a, const OpenText& b) { return rank(a) > rank(b); });
  std::vector<Hypothesis> found;
  for (const OpenText& one : order) found.push_back(texts.hypothesis(one.place, one.score));
  return found;
}

std::vector<int64_t> texts_of_open(const OpenTexts& open) {
  std::vector<int64_t> texts;
  for (const OpenText& one : open) texts.push_back(one.place.text);
  return texts;
}

size_t smallest_step(const std::vector<int64_t>& durations) {
  size_t smallest = 0;
  for (size_t d = 0; d < durations.size(); ++d) {
    const bool is_smaller = durations[smallest] == 0 || durations[d] < durations[smallest];
    if (durations[d] > 0 && is_smaller) smallest = d;
  }
  return smallest;
}

}  // namespace s2s::speech_recognizer
