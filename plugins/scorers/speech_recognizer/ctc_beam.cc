#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "beam_search.h"

namespace s2s::speech_recognizer {

std::vector<std::pair<float, int64_t>> largest(const float* values, int64_t size, int64_t count,
                                               int64_t left_out) {
  std::vector<int64_t> places(static_cast<size_t>(size));
  std::iota(places.begin(), places.end(), 0);
  if (left_out >= 0) places.erase(places.begin() + left_out);
  const auto kept = std::min(static_cast<size_t>(count), places.size());
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(kept);
  std::partial_sort(places.begin(), end, places.end(), [&](int64_t a, int64_t b) {
    return values[a] != values[b] ? values[a] > values[b] : a < b;
  });
  std::vector<std::pair<float, int64_t>> found;
  for (auto place = places.begin(); place != end; ++place) {
    found.emplace_back(values[*place], *place);
  }
  return found;
}

double log_add(double a, double b) {
  const double larger = std::max(a, b);
  if (std::isinf(larger)) return larger;
  return larger + std::log1p(std::exp(std::min(a, b) - larger));
}

namespace {

/// A text in the beam of a CTC search. The last label of a frame may be the blank.
struct CtcBeam {
  BeamTexts::Place place;
  int64_t last_label = -1;
  float score = 0;
};

class CtcSearch {
 public:
  CtcSearch(int64_t num_labels, int64_t blank, const BeamOptions& options)
      : num_labels_(num_labels), blank_(blank), options_(options), beams_(1) {}

  /// log_probs: of the labels in this frame.
  void step(const float* log_probs, int64_t frame) {
    std::vector<float> scores;
    scores.reserve(beams_.size() * static_cast<size_t>(num_labels_));
    for (const CtcBeam& beam : beams_) {
      for (int64_t label = 0; label < num_labels_; ++label) {
        const bool is_new = label != beam.last_label && label != blank_;
        const float score = log_probs[label] + beam.score;
        scores.push_back(is_new ? score + static_cast<float>(options_.beam_beta) : score);
      }
    }
    std::vector<CtcBeam> next;
    float best = -std::numeric_limits<float>::infinity();
    for (const auto& [score, candidate] :
         largest(scores.data(), static_cast<int64_t>(scores.size()), options_.beam_size)) {
      best = std::max(best, score);
      if (score <= best - static_cast<float>(options_.beam_threshold)) break;
      CtcBeam beam = beams_[static_cast<size_t>(candidate / num_labels_)];
      const int64_t label = candidate % num_labels_;
      if (label != beam.last_label && label != blank_) {
        beam.place = texts_.extended(beam.place, label, frame);
      }
      beam.last_label = label;
      beam.score = score;
      add(beam, next);
    }
    if (!next.empty()) beams_ = std::move(next);
  }

  std::vector<Hypothesis> hypotheses() const {
    std::vector<Hypothesis> found;
    for (const CtcBeam& beam : beams_) found.push_back(texts_.hypothesis(beam.place, beam.score));
    return found;
  }

 private:
  /// Of equal hypotheses the better one stays. They come best first.
  void add(const CtcBeam& beam, std::vector<CtcBeam>& next) const {
    const bool is_there = std::any_of(next.begin(), next.end(), [&](const CtcBeam& other) {
      return other.place.text == beam.place.text && other.last_label == beam.last_label;
    });
    if (!is_there || options_.beam_size == 1) next.push_back(beam);
  }

  int64_t num_labels_, blank_;
  const BeamOptions& options_;
  BeamTexts texts_;
  std::vector<CtcBeam> beams_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> ctc_beam_batch(const at::Tensor& log_probs_ATV,
                                                    const std::vector<int64_t>& lengths,
                                                    int64_t blank, const BeamOptions& options) {
  const at::Tensor host_ATV = log_probs_ATV.to(at::kCPU, at::kFloat).contiguous();
  const int64_t num_labels = host_ATV.size(2);
  std::vector<std::vector<Hypothesis>> found;
  for (size_t a = 0; a < lengths.size(); ++a) {
    CtcSearch search(num_labels, blank, options);
    const float* frames =
        host_ATV.const_data_ptr<float>() + static_cast<int64_t>(a) * host_ATV.size(1) * num_labels;
    for (int64_t t = 0; t < lengths[a]; ++t) search.step(frames + t * num_labels, t);
    found.push_back(search.hypotheses());
  }
  return found;
}

}  // namespace s2s::speech_recognizer
