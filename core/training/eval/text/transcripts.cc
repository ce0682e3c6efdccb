#include "s2s/scores/transcripts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "s2s/data/resample.h"
#include "s2s/scores/texts.h"

namespace s2s {

std::vector<at::Tensor> heard_samples(const std::vector<AudioClip>& clips, int64_t sample_rate_hz) {
  std::map<int64_t, Resampler> resamplers;
  std::vector<at::Tensor> heard(clips.size());
  for (size_t i = 0; i < clips.size(); ++i) {
    const at::Tensor samples_S = clips[i].samples_S.to(at::kCPU, at::kFloat).reshape({-1});
    if (samples_S.numel() == 0 || samples_S.eq(0).all().item<bool>()) continue;
    const int64_t rate = clips[i].sample_rate_hz;
    heard[i] = resamplers.try_emplace(rate, rate, sample_rate_hz).first->second(samples_S);
  }
  return heard;
}

std::vector<RecognizedWord> words_of_labels(
    const std::vector<TimedLabel>& labels,
    const std::function<std::string(const std::vector<int64_t>&)>& text_of) {
  std::vector<RecognizedWord> words;
  std::vector<int64_t> ids;
  double sum = 0, count = 0;
  for (const TimedLabel& label : labels) {
    ids.push_back(label.id);
    const std::vector<std::string> texts = split_words(text_of(ids));
    if (texts.size() > words.size()) {
      words.push_back({"", label.start_s, 0, {}});
      sum = count = 0;
    }
    for (size_t w = 0; w < words.size() && w < texts.size(); ++w) words[w].text = texts[w];
    if (words.empty()) continue;
    words.back().end_s = std::max(label.end_s, words.back().start_s);
    if (!label.probability) continue;
    sum += *label.probability;
    words.back().confidence = sum / ++count;
  }
  return words;
}

}  // namespace s2s
