#include "beam_texts.h"

#include <algorithm>

namespace s2s::speech_recognizer {

BeamTexts::Place BeamTexts::extended(const Place& place, int64_t label, int64_t frame) {
  const auto next = static_cast<int64_t>(texts_.size());
  const auto [found, is_new] =
      texts_[static_cast<size_t>(place.text)].longer.try_emplace(label, next);
  const Place longer{found->second, static_cast<int64_t>(paths_.size())};
  if (is_new) texts_.push_back({place.text, label, length(place.text) + 1});
  paths_.push_back({place.path, frame});
  return longer;
}

Hypothesis BeamTexts::hypothesis(const Place& place, double score) const {
  Hypothesis found;
  found.score = score;
  for (int64_t text = place.text; text > 0; text = before(text)) {
    found.labels.push_back(label(text));
  }
  for (int64_t path = place.path; path > 0; path = paths_[static_cast<size_t>(path)].before) {
    found.frames.push_back(paths_[static_cast<size_t>(path)].frame);
  }
  std::reverse(found.labels.begin(), found.labels.end());
  std::reverse(found.frames.begin(), found.frames.end());
  return found;
}

}  // namespace s2s::speech_recognizer
