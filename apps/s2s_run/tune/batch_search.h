#pragma once
// The largest batch that fits, from few trials.

#include <cstdint>
#include <optional>

namespace s2s::run {

/// What a trial with some rows said.
struct BatchTrial {
  int64_t rows = 0;
  bool fits = false;
  double peak_bytes = 0;   // of its steps, if it fits
  double model_bytes = 0;  // before the first step
};

/// Bisection between the largest number of rows that fitted and the smallest that did not. The
/// first trial is a guess; after one that fits, memory is taken to grow in proportion to rows.
class BatchSearch {
 public:
  /// `guess`: rows of the first trial. `threshold`: the search ends when the range is smaller than
  /// this share of the result. `limit_bytes`: 0: unknown. `most`: rows that are never exceeded.
  BatchSearch(int64_t guess, double threshold, double limit_bytes, int64_t most);

  /// Rows of the next trial; nothing when the search has ended.
  std::optional<int64_t> next() const;
  void add(const BatchTrial& trial);

  /// The largest number of rows that fitted; 0: not even one.
  int64_t largest() const { return fits_ ? fits_->rows : 0; }
  int64_t num_trials() const { return num_trials_; }
  const std::optional<BatchTrial>& best() const { return fits_; }

 private:
  int64_t step_above() const;
  int64_t estimate() const;

  int64_t guess_;
  double threshold_, limit_bytes_;
  int64_t most_;
  std::optional<BatchTrial> fits_;
  std::optional<int64_t> too_many_;
  int64_t num_trials_ = 0;
};

}  // namespace s2s::run
