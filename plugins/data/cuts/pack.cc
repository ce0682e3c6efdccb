#include "pack.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "random_order.h"

namespace s2s::cuts {
namespace {

class Packer {
 public:
  Packer(const PackRule& rule, std::mt19937_64& random) : rule_(rule), random_(random) {}

  void add(const Cut* cut) {
    const int64_t frames = frames_of(*cut, rule_.frame_length_s);
    const int64_t gap = draw_gap();
    const auto best = find_best(gap + frames);
    if (best != open_.end()) {
      best->parts.push_back({cut, best->num_frames + gap});
      best->num_frames += gap + frames;
      return;
    }
    open_.push_back({{{cut, 0}}, frames});
    if (static_cast<int64_t>(open_.size()) > rule_.open_sequences) close_fullest();
  }

  std::vector<CutSequence> finish() {
    std::move(open_.begin(), open_.end(), std::back_inserter(done_));
    open_.clear();
    return std::move(done_);
  }

 private:
  int64_t draw_gap() {
    const int64_t spread = rule_.max_gap_frames - rule_.min_gap_frames;
    if (spread <= 0) return rule_.min_gap_frames;
    return rule_.min_gap_frames +
           static_cast<int64_t>(random_below(static_cast<uint64_t>(spread + 1), random_));
  }

  /// The fullest sequence that has room for `frames`.
  std::vector<CutSequence>::iterator find_best(int64_t frames) {
    auto best = open_.end();
    for (auto it = open_.begin(); it != open_.end(); ++it) {
      if (it->num_frames + frames > rule_.max_frames) continue;
      if (best == open_.end() || it->num_frames > best->num_frames) best = it;
    }
    return best;
  }

  void close_fullest() {
    const auto fullest =
        std::max_element(open_.begin(), open_.end(),
                         [](const auto& a, const auto& b) { return a.num_frames < b.num_frames; });
    done_.push_back(std::move(*fullest));
    open_.erase(fullest);
  }

  const PackRule& rule_;
  std::mt19937_64& random_;
  std::vector<CutSequence> open_;
  std::vector<CutSequence> done_;
};

}  // namespace

int64_t frames_of(const Cut& cut, double frame_length_s) {
  return static_cast<int64_t>(std::ceil(cut.duration_s / frame_length_s - 1e-6));
}

std::vector<CutSequence> pack(const std::vector<const Cut*>& cuts, const PackRule& rule,
                              std::mt19937_64& random) {
  Packer packer(rule, random);
  for (const Cut* cut : cuts) packer.add(cut);
  return packer.finish();
}

}  // namespace s2s::cuts
