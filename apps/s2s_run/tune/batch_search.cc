#include "s2s_run/tune/batch_search.h"

#include <algorithm>
#include <cmath>

namespace s2s::run {

BatchSearch::BatchSearch(int64_t guess, double threshold, double limit_bytes, int64_t most)
    : guess_(std::clamp<int64_t>(guess, 1, most)),
      threshold_(threshold),
      limit_bytes_(limit_bytes),
      most_(most) {}

/// Rows between two results that count as equal.
int64_t BatchSearch::step_above() const {
  return std::max<int64_t>(1,
                           std::llround(std::floor(threshold_ * static_cast<double>(largest()))));
}

/// Rows that fill the memory, from the last trial that fitted; 0: unknown.
int64_t BatchSearch::estimate() const {
  const double of_rows = fits_->peak_bytes - fits_->model_bytes;
  if (limit_bytes_ <= 0 || of_rows <= 0) return 0;
  const double rows =
      static_cast<double>(fits_->rows) * std::max(0.0, limit_bytes_ - fits_->model_bytes) / of_rows;
  return std::llround(std::floor(std::min(rows, static_cast<double>(most_))));
}

std::optional<int64_t> BatchSearch::next() const {
  if (num_trials_ == 0) return guess_;
  if (!fits_) {
    if (*too_many_ == 1) return std::nullopt;
    return std::max<int64_t>(1, *too_many_ / 4);  // what fits says how much more does
  }
  const int64_t above = largest() + step_above();
  const int64_t end = too_many_.value_or(most_ + 1);
  if (above >= end) return std::nullopt;
  const int64_t wanted = estimate();
  if (!too_many_) {
    const int64_t doubled = wanted > 0 ? wanted : 2 * largest();
    return std::clamp(doubled, above, std::min(most_, 8 * largest()));
  }
  if (wanted > 0 && wanted < end) return std::max(wanted, above);
  return std::max(above, (largest() + end) / 2);
}

void BatchSearch::add(const BatchTrial& trial) {
  ++num_trials_;
  if (!trial.fits) {
    too_many_ = std::min(trial.rows, too_many_.value_or(trial.rows));
  } else if (!fits_ || trial.rows > fits_->rows) {
    fits_ = trial;
  }
}

}  // namespace s2s::run
