#include "samplers/bins_2d.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "samplers/pairwise_sum.h"
#include "samplers/sampling_errors.h"

namespace s2s::data {
namespace {

struct Row {
  float length;
  int32_t num_tokens;
  double ratio() const { return static_cast<double>(num_tokens) / static_cast<double>(length); }
};

std::vector<Row> sorted_rows(const std::vector<CutSize>& sizes) {
  std::vector<Row> rows;
  for (const CutSize& size : sizes) {
    rows.push_back({static_cast<float>(size.length), static_cast<int32_t>(size.num_tokens)});
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::pair(a.length, a.num_tokens) < std::pair(b.length, b.num_tokens);
  });
  return rows;
}

// Rounds to three decimals, in single precision.
float rounded(float length) { return std::nearbyint(length * 1000.0F) / 1000.0F; }

// Returns the rows whose ratio is not too far above the mean.
std::vector<Row> without_outliers(std::span<const Row> rows, double threshold) {
  std::vector<double> ratios;
  for (const Row& row : rows) ratios.push_back(row.ratio());
  const auto count = static_cast<double>(rows.size());
  const double mean = pairwise_sum(std::span<const double>(ratios)) / count;
  std::vector<double> squares;
  for (const double ratio : ratios) squares.push_back((ratio - mean) * (ratio - mean));
  const double deviation = std::sqrt(pairwise_sum(std::span<const double>(squares)) / count);
  std::vector<Row> left;
  for (size_t i = 0; i < rows.size(); ++i) {
    // If all ratios are equal, nothing is an outlier; NeMo divides by zero here and fails.
    if (deviation == 0 || (ratios[i] - mean) / deviation <= threshold) left.push_back(rows[i]);
  }
  return left;
}

class Estimate {
 public:
  Estimate(std::vector<Row> rows, const Bins2dOptions& options)
      : rows_(std::move(rows)), options_(options) {}

  Bins bins() {
    find_lengths();
    const float last = options_.max_length ? static_cast<float>(*options_.max_length)
                                           : rounded(rows_.back().length);
    // Skewed data can have equal bounds. They become one bucket with the sub-buckets of all of
    // them.
    int64_t num_joined = 1;
    size_t begin = 0;
    for (size_t i = 0; i < lengths_.size(); ++i) {
      const float next = i + 1 < lengths_.size() ? lengths_[i + 1] : last;
      if (lengths_[i] == next) {
        ++num_joined;
        continue;
      }
      add_bucket(static_cast<double>(lengths_[i]), begin, ends_[i], num_joined);
      begin = ends_[i];
      num_joined = 1;
    }
    const double last_bound = options_.max_length.value_or(static_cast<double>(last));
    add_bucket(last_bound, begin, rows_.size(), num_joined);
    return std::move(bins_);
  }

 private:
  // Sets lengths_ and ends_: the bounds of buckets of equal total length, and their ends in rows_.
  void find_lengths() {
    std::vector<float> lengths;
    for (const Row& row : rows_) lengths.push_back(row.length);
    const float share =
        pairwise_sum(std::span<const float>(lengths)) / static_cast<float>(options_.num_buckets);
    float sum = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      float length = lengths[i];
      if (sum > share) {
        length = rounded(length);
        lengths_.push_back(length);
        ends_.push_back(i);
        sum = 0;
      }
      sum += length;
    }
  }

  void add_bucket(double length, size_t begin, size_t end, int64_t num_joined) {
    std::vector<Row> rows =
        without_outliers(std::span(rows_).subspan(begin, end - begin), options_.outlier_threshold);
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
      return std::pair(a.num_tokens, a.length) < std::pair(b.num_tokens, b.length);
    });
    double max_ratio = 0;
    int64_t total = 0;
    for (const Row& row : rows) {
      max_ratio = std::max(max_ratio, row.ratio());
      total += row.num_tokens;
    }
    const double share =
        static_cast<double>(total) / static_cast<double>(options_.num_sub_buckets * num_joined);
    int64_t sum = 0;
    for (const Row& row : rows) {
      if (static_cast<double>(sum) > share) {
        add_bound(length, row.num_tokens, max_ratio);
        sum = 0;
      }
      sum += row.num_tokens;
    }
    add_bound(length, rows.empty() ? 0 : rows.back().num_tokens, max_ratio);
  }

  void add_bound(double length, int64_t num_tokens, double max_ratio) {
    bins_.lengths.push_back(length);
    bins_.num_tokens.push_back(num_tokens);
    bins_.max_ratio.push_back(max_ratio);
  }

  std::vector<Row> rows_;
  Bins2dOptions options_;
  std::vector<float> lengths_;
  std::vector<size_t> ends_;
  Bins bins_;
};

}  // namespace

Bins estimate_bins_2d(const std::vector<CutSize>& sizes, const Bins2dOptions& options) {
  const auto count = static_cast<int64_t>(sizes.size());
  if (options.num_buckets < 2 || count < options.num_buckets) {
    throw sampling_errors::too_few_cuts(count, options.num_buckets);
  }
  return Estimate(sorted_rows(sizes), options).bins();
}

}  // namespace s2s::data
