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

namespace {

using TextOf = std::function<std::string(const std::vector<int64_t>&)>;

/// The words of the labels so far. Only the newest labels are decoded again with each one.
class GrowingWords {
 public:
  explicit GrowingWords(const TextOf& text_of) : text_of_(text_of) {}

  /// The number of words with one label more. The newest ones may have another text than before.
  size_t add(int64_t label) {
    labels_.push_back(label);
    newest_ = split_words(text_of_(labels_));
    begins_.resize(std::max(begins_.size(), newest_.size()), labels_.size() - 1);
    return num_settled_ + newest_.size();
  }
  /// Words that `settle` put aside; the newest ones follow.
  size_t num_settled() const { return num_settled_; }
  const std::vector<std::string>& newest() const { return newest_; }

  /// Puts aside all but the last two words, if these have the same texts without them.
  void settle() {
    constexpr size_t kMost = 64, kKept = 2;
    if (newest_.size() < kMost) return;
    const size_t settled = newest_.size() - kKept;
    const size_t begin = begins_[settled];
    const std::vector<int64_t> rest(labels_.begin() + static_cast<std::ptrdiff_t>(begin),
                                    labels_.end());
    const std::vector<std::string> last(newest_.end() - kKept, newest_.end());
    if (split_words(text_of_(rest)) != last) return;
    labels_ = rest;
    newest_ = last;
    begins_ = {0, begins_[settled + 1] - begin};
    num_settled_ += settled;
  }

 private:
  const TextOf& text_of_;
  std::vector<int64_t> labels_;
  std::vector<std::string> newest_;
  std::vector<size_t> begins_;  // the label with which each of the newest words appeared
  size_t num_settled_ = 0;
};

}  // namespace

std::vector<RecognizedWord> words_of_labels(const std::vector<TimedLabel>& labels,
                                            const TextOf& text_of) {
  std::vector<RecognizedWord> words;
  GrowingWords growing(text_of);
  double sum = 0, count = 0;
  for (const TimedLabel& label : labels) {
    if (growing.add(label.id) > words.size()) {
      words.push_back({"", label.start_s, 0, {}});
      sum = count = 0;
    }
    const size_t first = growing.num_settled();
    for (size_t w = 0; w < growing.newest().size() && first + w < words.size(); ++w) {
      words[first + w].text = growing.newest()[w];
    }
    if (words.empty()) continue;
    words.back().end_s = std::max(label.end_s, words.back().start_s);
    if (label.probability) {
      sum += *label.probability;
      words.back().confidence = sum / ++count;
    }
    if (words.size() == first + growing.newest().size()) growing.settle();
  }
  return words;
}

}  // namespace s2s
