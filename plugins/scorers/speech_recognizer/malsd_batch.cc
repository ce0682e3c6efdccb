#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "beam_search.h"

namespace s2s::speech_recognizer {
namespace {

// Shape letters: R rows, a row for each place in the beam of each clip; K places.

constexpr int64_t kNoLabel = -1;  // the clip has ended

/// A place in the beam of a clip.
struct MalsdBeam {
  BeamTexts::Place place;
  float score = 0;
  int64_t frame = 0;
  int64_t symbols = 0;  // labels of this frame
};

/// How a beam may go on.
struct MalsdStep {
  float score = 0;
  size_t parent = 0;
  int64_t label = kNoLabel, duration = 0;
};

/// What a row's networks give: the best pairs of label and duration, and the blank.
struct RowScores {
  const float* values;  // [K] scores, [K] places, the blank's score
  int64_t count, num_durations;
  float score(int64_t k) const { return values[k]; }
  int64_t place(int64_t k) const { return static_cast<int64_t>(values[count + k]); }
  float blank() const { return values[2 * count]; }
};

class MalsdClip {
 public:
  MalsdClip(int64_t length, int64_t blank, const BeamOptions& options)
      : length_(length), blank_(blank), options_(options), beams_(1) {}

  bool is_active() const {
    return std::any_of(beams_.begin(), beams_.end(),
                       [&](const MalsdBeam& beam) { return beam.frame < length_; });
  }
  const std::vector<MalsdBeam>& beams() const { return beams_; }
  int64_t length() const { return length_; }

  /// Takes the best steps. Returns them; their order is that of the beams.
  std::vector<MalsdStep> step(const std::vector<RowScores>& rows) {
    std::vector<MalsdStep> steps;
    for (size_t i = 0; i < beams_.size(); ++i) add_steps(i, rows[i], steps);
    std::stable_sort(steps.begin(), steps.end(),
                     [](const MalsdStep& a, const MalsdStep& b) { return a.score > b.score; });
    steps.resize(std::min(steps.size(), static_cast<size_t>(options_.beam_size)));
    std::vector<MalsdBeam> next;
    for (const MalsdStep& step : steps) next.push_back(taken(step));
    return recombined(std::move(next), steps);
  }

  std::vector<Hypothesis> hypotheses() const {
    std::vector<const MalsdBeam*> order;
    for (const MalsdBeam& beam : beams_) order.push_back(&beam);
    const auto rank = [&](const MalsdBeam* beam) {
      const auto length = static_cast<float>(texts_.length(beam->place.text) + 1);
      return options_.score_norm ? beam->score / length : beam->score;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](const MalsdBeam* a, const MalsdBeam* b) { return rank(a) > rank(b); });
    std::vector<Hypothesis> found;
    for (const MalsdBeam* beam : order) {
      found.push_back(texts_.hypothesis(beam->place, beam->score));
    }
    return found;
  }

 private:
  /// A row's duration; a blank goes on by a frame at least.
  static int64_t duration_of(const RowScores& row, int64_t k, bool is_blank) {
    if (row.num_durations == 0) return is_blank ? 1 : 0;
    const int64_t index = row.place(k) % row.num_durations;
    return is_blank ? std::max<int64_t>(index, 1) : index;
  }

  void add_steps(size_t i, const RowScores& row, std::vector<MalsdStep>& steps) const {
    const MalsdBeam& beam = beams_[i];
    if (beam.frame >= length_) {
      steps.push_back({beam.score, i, kNoLabel, 0});
      return;
    }
    if (beam.symbols >= options_.max_symbols) {
      steps.push_back({beam.score + row.blank(), i, blank_, duration_of(row, 0, true)});
      return;
    }
    for (int64_t k = 0; k < row.count; ++k) {
      const int64_t label = row.place(k) / std::max<int64_t>(row.num_durations, 1);
      steps.push_back({beam.score + row.score(k), i, label, duration_of(row, k, label == blank_)});
    }
  }

  MalsdBeam taken(const MalsdStep& step) {
    MalsdBeam beam = beams_[step.parent];
    beam.score = step.score;
    if (step.label == kNoLabel) return beam;
    if (step.label != blank_) {
      beam.place = texts_.extended(beam.place, step.label, beam.frame);
      ++beam.symbols;
    }
    beam.frame += step.duration;
    if (step.duration > 0) beam.symbols = 0;
    return beam;
  }

  /// Equal hypotheses become one, the first of the best, with the sum of their probabilities.
  std::vector<MalsdStep> recombined(std::vector<MalsdBeam> next,
                                    const std::vector<MalsdStep>& steps) {
    beams_.clear();
    std::vector<MalsdStep> kept;
    for (size_t i = 0; i < next.size(); ++i) {
      const auto same = std::find_if(beams_.begin(), beams_.end(), [&](const MalsdBeam& other) {
        return other.place.text == next[i].place.text && other.frame == next[i].frame;
      });
      if (same == beams_.end() || options_.beam_size == 1) {
        beams_.push_back(next[i]);
        kept.push_back(steps[i]);
      } else {
        same->score = static_cast<float>(log_add(same->score, next[i].score));
      }
    }
    return kept;
  }

  int64_t length_, blank_;
  const BeamOptions& options_;
  BeamTexts texts_;
  std::vector<MalsdBeam> beams_;  // of the best score first, before equal ones became one
};

/// The rows of all clips.
class MalsdRows {
 public:
  MalsdRows(const SearchedTransducer& searched, const BeamOptions& options)
      : searched_(searched),
        num_places_(options.beam_size),
        state_(searched.decoder.begin(static_cast<int64_t>(searched.lengths.size()) *
                                      options.beam_size)) {
    for (const int64_t length : searched.lengths) {
      clips_.emplace_back(length, searched.options.blank_label(), options);
    }
  }

  std::vector<std::vector<Hypothesis>> run() {
    while (std::any_of(clips_.begin(), clips_.end(),
                       [](const MalsdClip& clip) { return clip.is_active(); })) {
      step();
    }
    std::vector<std::vector<Hypothesis>> found;
    for (const MalsdClip& clip : clips_) found.push_back(clip.hypotheses());
    return found;
  }

 private:
  /// The frames [R, J] of the rows; places without a beam have the first one.
  at::Tensor frames() const {
    const at::Tensor& frames_ATJ = searched_.frames_ATJ;
    std::vector<int64_t> places;
    for (size_t a = 0; a < clips_.size(); ++a) {
      const std::vector<MalsdBeam>& beams = clips_[a].beams();
      for (int64_t k = 0; k < num_places_; ++k) {
        const auto place = static_cast<size_t>(k);
        const int64_t frame = place < beams.size() ? beams[place].frame : 0;
        places.push_back(static_cast<int64_t>(a) * frames_ATJ.size(1) +
                         std::min(frame, frames_ATJ.size(1) - 1));
      }
    }
    return frames_ATJ.flatten(0, 1).index_select(
        0, at::tensor(places, at::kLong).to(frames_ATJ.device()));
  }

  /// What RowScores reads, [R, 2 * count + 1], on the host.
  at::Tensor scores(int64_t& count) const {
    const TransducerOptions& options = searched_.options;
    const at::Tensor scores_RV =
        searched_.decoder.joint(frames().unsqueeze(1), state_.joint_AJ.unsqueeze(1)).flatten(0, 2);
    const int64_t num_labels = options.num_labels();
    at::Tensor pairs_RN = at::log_softmax(scores_RV.narrow(1, 0, num_labels), 1);
    at::Tensor blank_R = pairs_RN.select(1, options.blank_label());
    if (!options.durations.empty()) {
      const at::Tensor durations_RD =
          at::log_softmax(scores_RV.slice(1, num_labels, scores_RV.size(1)), 1);
      blank_R = blank_R + durations_RD.amax(1);
      pairs_RN = (pairs_RN.unsqueeze(2) + durations_RD.unsqueeze(1)).flatten(1);
    }
    count = std::min(num_places_, pairs_RN.size(1));
    const auto [values_RK, places_RK] = at::topk(pairs_RN, count, 1);
    return at::cat({values_RK, places_RK.to(at::kFloat), blank_R.unsqueeze(1)}, 1)
        .to(at::kCPU, at::kFloat)
        .contiguous();
  }

  void step() {
    int64_t count = 0;
    const at::Tensor host = scores(count);
    const float* values = host.const_data_ptr<float>();
    std::vector<int64_t> parents, labels;
    for (size_t a = 0; a < clips_.size(); ++a) {
      std::vector<RowScores> rows;
      const int64_t first = static_cast<int64_t>(a) * num_places_;
      for (int64_t k = 0; k < num_places_; ++k) {
        rows.push_back({values + (first + k) * host.size(1), count,
                        static_cast<int64_t>(searched_.options.durations.size())});
      }
      const std::vector<MalsdStep> steps = clips_[a].step(rows);
      for (size_t k = 0; k < static_cast<size_t>(num_places_); ++k) {
        parents.push_back(first + (k < steps.size() ? static_cast<int64_t>(steps[k].parent) : 0));
        labels.push_back(k < steps.size() ? steps[k].label : kNoLabel);
      }
    }
    feed(parents, labels);
  }

  void feed(const std::vector<int64_t>& parents, const std::vector<int64_t>& labels) {
    const at::Device device = state_.joint_AJ.device();
    const at::Tensor both = at::stack({at::tensor(parents, at::kLong),  //
                                       at::tensor(labels, at::kLong)})
                                .to(device);
    const at::Tensor parent_R = both[0], label_R = both[1];
    for (at::Tensor& h : state_.h) h = h.index_select(0, parent_R);
    for (at::Tensor& c : state_.c) c = c.index_select(0, parent_R);
    state_.joint_AJ = state_.joint_AJ.index_select(0, parent_R);
    const at::Tensor is_label_R =
        label_R.ge(0).logical_and(label_R.ne(searched_.options.blank_label()));
    searched_.decoder.feed(state_, label_R.clamp_min(0), is_label_R);
  }

  const SearchedTransducer& searched_;
  int64_t num_places_;
  TransducerDecoder::State state_;
  std::vector<MalsdClip> clips_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> malsd_batch(const SearchedTransducer& searched,
                                                 const BeamOptions& options) {
  return MalsdRows(searched, options).run();
}

}  // namespace s2s::speech_recognizer
