#include <algorithm>

#include "open_texts.h"

namespace s2s::speech_recognizer {
namespace {

// A model that is sure of a label without end would never leave a frame.
constexpr int64_t kMostTexts = 4096;
// Of NeMo's search with one text.
constexpr int64_t kMostSteps = 5;

/// The basic beam search of one clip.
class DefaultBeam {
 public:
  DefaultBeam(const SearchedTransducer& searched, int64_t clip, const BeamOptions& options)
      : model_(searched.options),
        options_(options),
        scores_(searched, clip, options.softmax_temperature),
        length_(searched.lengths[static_cast<size_t>(clip)]),
        beam_(std::min(options.beam_size, model_.num_labels() - 1)),
        num_tried_(std::min(beam_, model_.num_labels() - 2)) {}

  std::vector<Hypothesis> run() {
    kept_ = {OpenText()};
    for (int64_t t = 0; t < length_; ++t) {
      if (!model_.durations.empty()) {
        tdt_frame(t);
      } else if (options_.beam_size == 1) {
        greedy_frame(t);
      } else {
        rnnt_frame(t);
      }
      scores_.keep(texts_of_open(kept_), 1);
    }
    return hypotheses_of(kept_, scores_.texts, options_.score_norm);
  }

 private:
  int64_t blank() const { return model_.blank_label(); }

  static OpenText taken_best(OpenTexts& open) {
    const auto best =
        std::max_element(open.begin(), open.end(),
                         [](const OpenText& a, const OpenText& b) { return a.score < b.score; });
    const OpenText taken = *best;
    open.erase(best);
    return taken;
  }

  /// Whether enough kept texts are better than all that are open; those are kept then, the worst
  /// one first.
  bool is_done(const OpenTexts& open) {
    const auto worse = [](const OpenText& a, const OpenText& b) { return a.score < b.score; };
    const double best = std::max_element(open.begin(), open.end(), worse)->score;
    OpenTexts better;
    std::copy_if(kept_.begin(), kept_.end(), std::back_inserter(better),
                 [&](const OpenText& one) { return one.score > best; });
    if (static_cast<int64_t>(better.size()) < beam_) return false;
    std::stable_sort(better.begin(), better.end(), worse);
    kept_ = std::move(better);
    return true;
  }

  void greedy_frame(int64_t t) {
    OpenText& text = kept_.front();
    for (int64_t i = 0; i < kMostSteps; ++i) {
      const std::vector<float> labels = scores_.row(t, text.place.text).labels;
      const auto best = std::max_element(labels.begin(), labels.end());
      const int64_t label = best - labels.begin();
      if (label == blank()) return;
      text = {scores_.texts.extended(text.place, label, t), text.score + *best, 0};
    }
  }

  void rnnt_frame(int64_t t) {
    OpenTexts open = std::move(kept_);
    kept_.clear();
    for (int64_t i = 0; i < kMostTexts; ++i) {
      const OpenText best = taken_best(open);
      const std::vector<float> labels = scores_.row(t, best.place.text).labels;
      for (const auto& [score, label] :
           largest(labels.data(), model_.num_labels(), num_tried_, blank())) {
        open.push_back({scores_.texts.extended(best.place, label, t), best.score + score, 0});
      }
      kept_.push_back({best.place, best.score + labels[static_cast<size_t>(blank())], 0});
      if (open.empty() || is_done(open)) return;
    }
    kept_ = best_of(std::move(kept_), beam_);
  }

  void tdt_frame(int64_t t) {
    OpenTexts open = taken_of_frame(t, kept_);
    if (open.empty()) return;
    for (int64_t i = 0; i < kMostTexts && !open.empty(); ++i) {
      const OpenText best = taken_best(open);
      expand(t, best, open);
      kept_ = merged(kept_);
      if (!open.empty() && is_done(open)) return;
    }
    kept_ = best_of(std::move(kept_), beam_);
  }

  /// Goes on with the best pairs of a label and a duration, and with blanks.
  void expand(int64_t t, const OpenText& text, OpenTexts& open) {
    const TextScores::Row row = scores_.row(t, text.place.text);
    const auto labels = largest(row.labels.data(), model_.num_labels(), num_tried_, blank());
    const auto num_durations = static_cast<int64_t>(model_.durations.size());
    const auto durations =
        largest(row.durations.data(), num_durations, std::min(beam_, num_durations));
    std::vector<float> pairs;
    for (const auto& duration : durations) {
      for (const auto& label : labels) pairs.push_back(duration.first + label.first);
    }
    for (const auto& [score, pair] :
         largest(pairs.data(), static_cast<int64_t>(pairs.size()), num_tried_)) {
      const auto place = static_cast<size_t>(pair);
      const int64_t label = labels[place % labels.size()].second;
      const int64_t duration =
          model_.durations[static_cast<size_t>(durations[place / labels.size()].second)];
      (duration == 0 ? open : kept_)
          .push_back({scores_.texts.extended(text.place, label, t), text.score + score,
                      text.frame + duration});
    }
    const float blank_score = row.labels[static_cast<size_t>(blank())];
    for (const auto& [unused, index] : durations) {
      auto step = static_cast<size_t>(index);
      if (model_.durations[step] == 0) {
        if (durations.size() > 1) continue;
        step = smallest_step(model_.durations);
      }
      kept_.push_back({text.place, text.score + (blank_score + row.durations[step]),
                       text.frame + model_.durations[step]});
    }
  }

  const TransducerOptions& model_;
  const BeamOptions& options_;
  TextScores scores_;
  int64_t length_, beam_, num_tried_;
  OpenTexts kept_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> default_beam(const SearchedTransducer& searched,
                                                  const BeamOptions& options) {
  std::vector<std::vector<Hypothesis>> found;
  for (size_t a = 0; a < searched.lengths.size(); ++a) {
    found.push_back(DefaultBeam(searched, static_cast<int64_t>(a), options).run());
  }
  return found;
}

}  // namespace s2s::speech_recognizer
