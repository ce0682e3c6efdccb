#pragma once
// Finds loss spikes by comparison with previous losses.

#include <cstddef>
#include <deque>
#include <map>
#include <string>

namespace s2s {

class LossSpikes {
 public:
  /// A loss is a spike above `factor` times the mean of recent losses. 0: none is.
  explicit LossSpikes(double factor) : factor_(factor) {}

  /// The loss that the step's loss is compared with, and their ratio; "" if it is no spike.
  /// `terms`: the unweighted parts of `loss`. If the loss jumps and no part does, or the parts
  /// change, the weights have changed: a new stage of the run.
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
