#pragma once
// The texts of a beam search, as a tree.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "s2s/nn/transducer.h"

namespace s2s::speech_recognizer {

/// A text that a search found. The score is its log-probability as NeMo computes it; greedy
/// searches have none.
struct Hypothesis : FoundLabels {
  double score = 0;
  std::vector<double> confidences;  // of the labels; empty: there are none
};

/// Equal texts have one number, so that equal hypotheses are found at once. The empty text is 0.
class BeamTexts {
 public:
  /// A text, and where its labels were found.
  struct Place {
    int64_t text = 0, path = 0;
  };
  /// The text with one more label, which was found in a frame.
  Place extended(const Place& place, int64_t label, int64_t frame);
  /// The text without its last label; -1 of the empty text.
  int64_t before(int64_t text) const { return texts_[static_cast<size_t>(text)].before; }
  /// The last label; -1 of the empty text.
  int64_t label(int64_t text) const { return texts_[static_cast<size_t>(text)].label; }
  int64_t length(int64_t text) const { return texts_[static_cast<size_t>(text)].length; }
  Hypothesis hypothesis(const Place& place, double score) const;

 private:
  struct Text {
    int64_t before = -1, label = -1, length = 0;
    std::unordered_map<int64_t, int64_t> longer = {};  // by their last label
  };
  struct Found {
    int64_t before = -1, frame = -1;
  };
  std::vector<Text> texts_ = {Text()};
  std::vector<Found> paths_ = {Found()};
};

}  // namespace s2s::speech_recognizer
