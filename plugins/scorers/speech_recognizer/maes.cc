#include <algorithm>

#include "open_texts.h"

namespace s2s::speech_recognizer {
namespace {

/// The modified adaptive expansion search of one clip.
class Maes {
 public:
  Maes(const SearchedTransducer& searched, int64_t clip, const BeamOptions& options)
      : model_(searched.options),
        options_(options),
        scores_(searched, clip, options.softmax_temperature),
        length_(searched.lengths[static_cast<size_t>(clip)]),
        beam_(std::min(options.beam_size, model_.num_labels() - 1)),
        num_tried_(options.beam_size + options.maes_expansion_beta) {
    const auto zero = std::find(model_.durations.begin(), model_.durations.end(), 0);
    zero_duration_ = zero - model_.durations.begin();
    may_stay_ = !is_tdt() || zero != model_.durations.end();
  }

  std::vector<Hypothesis> run() {
    kept_ = {OpenText()};
    for (int64_t t = 0; t < length_; ++t) {
      OpenTexts open = taken_of_frame(t, kept_);
      if (open.empty()) continue;
      if (may_stay_) search_prefixes(t, open);
      frame(t, std::move(open));
      scores_.keep(texts_of_open(kept_), options_.maes_prefix_alpha + 1);
    }
    return hypotheses_of(kept_, scores_.texts, options_.score_norm);
  }

 private:
  /// How a text may go on in a frame.
  struct Steps {
    OpenTexts stays;  // longer by a label, in the same frame
    OpenTexts leaves;
  };

  bool is_tdt() const { return !model_.durations.empty(); }
  int64_t blank() const { return model_.blank_label(); }

  float score_of(const TextScores::Row& row, int64_t label) const {
    const float score = row.labels[static_cast<size_t>(label)];
    return is_tdt() ? score + row.durations[static_cast<size_t>(zero_duration_)] : score;
  }

  /// The text of so many labels that `text` begins with.
  int64_t beginning(int64_t text, int64_t length) const {
    while (scores_.texts.length(text) > length) text = scores_.texts.before(text);
    return text;
  }

  /// Longer texts come first, and get the probability of their beginnings, too.
  void search_prefixes(int64_t t, OpenTexts& open) {
    const BeamTexts& texts = scores_.texts;
    std::stable_sort(open.begin(), open.end(), [&](const OpenText& a, const OpenText& b) {
      return texts.length(a.place.text) > texts.length(b.place.text);
    });
    for (size_t j = 0; j < open.size(); ++j) {
      const int64_t longer = open[j].place.text, length = texts.length(longer);
      for (size_t i = j + 1; i < open.size(); ++i) {
        const int64_t shorter = open[i].place.text, from = texts.length(shorter);
        if (from == length || length - from > options_.maes_prefix_alpha) continue;
        if (beginning(longer, from) != shorter) continue;
        double score = open[i].score;
        for (int64_t k = from; k < length; ++k) {
          score +=
              score_of(scores_.row(t, beginning(longer, k)), texts.label(beginning(longer, k + 1)));
        }
        open[j].score = log_add(open[j].score, score);
      }
    }
  }

  void frame(int64_t t, OpenTexts open) {
    const std::vector<int64_t> first_texts = texts_of_open(open);
    for (int64_t n = 0; n < options_.maes_num_steps; ++n) {
      Steps steps = expanded(t, open, first_texts);
      kept_.insert(kept_.end(), steps.leaves.begin(), steps.leaves.end());
      if (steps.stays.empty()) break;
      if (n + 1 < options_.maes_num_steps) {
        open = is_tdt() ? merged(steps.stays) : std::move(steps.stays);
        continue;
      }
      add_blanks(t, steps.stays);
      kept_.insert(kept_.end(), steps.stays.begin(), steps.stays.end());
    }
    kept_ = best_of(is_tdt() ? merged(kept_) : std::move(kept_), beam_);
  }

  Steps expanded(int64_t t, const OpenTexts& open, const std::vector<int64_t>& first_texts) {
    const std::vector<TextScores::Row> rows = scores_.rows(t, texts_of_open(open));
    Steps steps;
    for (size_t i = 0; i < open.size(); ++i) {
      if (is_tdt()) {
        expand_tdt(t, open[i], rows[i], steps);
      } else {
        expand_rnnt(t, open[i], rows[i], first_texts, steps);
      }
    }
    return steps;
  }

  void expand_rnnt(int64_t t, const OpenText& text, const TextScores::Row& row,
                   const std::vector<int64_t>& first_texts, Steps& steps) {
    auto tried = largest(row.labels.data(), model_.num_labels(), num_tried_);
    const double least = text.score + tried.front().first - options_.maes_expansion_gamma;
    std::reverse(tried.begin(), tried.end());  // NeMo's come worst first
    for (const auto& [score, label] : tried) {
      if (text.score + score < least) continue;
      if (label == blank()) {
        steps.leaves.push_back({text.place, text.score + score, t + 1});
        continue;
      }
      const BeamTexts::Place place = scores_.texts.extended(text.place, label, t);
      const bool is_there =
          std::find(first_texts.begin(), first_texts.end(), place.text) != first_texts.end();
      if (!is_there) steps.stays.push_back({place, text.score + score, t});
    }
  }

  void expand_tdt(int64_t t, const OpenText& text, const TextScores::Row& row, Steps& steps) {
    const auto labels = largest(row.labels.data(), model_.num_labels(), num_tried_);
    std::vector<float> pairs;
    for (const float duration : row.durations) {
      for (const auto& label : labels) pairs.push_back(duration + label.first);
    }
    const auto tried = largest(pairs.data(), static_cast<int64_t>(pairs.size()),
                               static_cast<int64_t>(labels.size()));
    const float least = tried.front().first - static_cast<float>(options_.maes_expansion_gamma);
    for (const auto& [score, pair] : tried) {
      if (score < least) continue;
      const auto place = static_cast<size_t>(pair);
      const int64_t label = labels[place % labels.size()].second;
      int64_t duration = model_.durations[place / labels.size()];
      if (label == blank()) {
        if (duration == 0) duration = model_.durations[smallest_step(model_.durations)];
        steps.leaves.push_back({text.place, text.score + score, text.frame + duration});
        continue;
      }
      (duration == 0 ? steps.stays : steps.leaves)
          .push_back({scores_.texts.extended(text.place, label, t), text.score + score,
                      text.frame + duration});
    }
  }

  /// After the last step, texts that would stay leave the frame by a blank.
  void add_blanks(int64_t t, OpenTexts& open) {
    const std::vector<TextScores::Row> rows = scores_.rows(t, texts_of_open(open));
    for (size_t i = 0; i < open.size(); ++i) {
      float score = rows[i].labels[static_cast<size_t>(blank())];
      int64_t duration = 1;
      if (is_tdt()) {
        const std::vector<float>& durations = rows[i].durations;
        auto best = static_cast<size_t>(std::max_element(durations.begin(), durations.end()) -
                                        durations.begin());
        if (model_.durations[best] == 0) best = smallest_step(model_.durations);
        score += durations[best];
        duration = model_.durations[best];
      }
      open[i].score += score;
      open[i].frame += duration;
    }
  }

  const TransducerOptions& model_;
  const BeamOptions& options_;
  TextScores scores_;
  int64_t length_, beam_, num_tried_, zero_duration_ = 0;
  bool may_stay_ = true;
  OpenTexts kept_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> maes(const SearchedTransducer& searched,
                                          const BeamOptions& options) {
  std::vector<std::vector<Hypothesis>> found;
  for (size_t a = 0; a < searched.lengths.size(); ++a) {
    found.push_back(Maes(searched, static_cast<int64_t>(a), options).run());
  }
  return found;
}

}  // namespace s2s::speech_recognizer
