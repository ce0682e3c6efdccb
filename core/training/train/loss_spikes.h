#pragma once
// Which losses are spikes, by the losses before them.

#include <cstddef>
#include <deque>
#include <map>
#include <string>

namespace s2s {

class LossSpikes {
 public:
  /// A loss is a spike above `factor` times the mean of recent losses. 0: none is.
  explicit LossSpikes(double factor) : factor_(factor) {}

  /// What the step's loss is compared with, and how many times larger it is; "": it is no spike.
  /// `terms`: the losses that `loss` is made from, without their weights. A loss that jumps while
  /// none of them does, or that is made from others than before, has other weights: a new stage of
  /// the run.
  std::string judged(double loss, const std::map<std::string, double>& terms) const;
  /// Remembers a loss that is no spike. After a change of the weights, forgets earlier ones.
  void add(double loss, const std::map<std::string, double>& terms);

 private:
  struct Recent {
    std::deque<double> losses;
    double mean() const;
    void add(double loss);
  };
  bool is_jump(double loss, const Recent& recent) const;
  bool has_other_terms(const std::map<std::string, double>& terms) const;

  double factor_;
  Recent all_;
  std::map<std::string, Recent> terms_;
};

}  // namespace s2s
