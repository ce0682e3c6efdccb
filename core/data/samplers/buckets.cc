#include "samplers/buckets.h"

#include <algorithm>

#include "samplers/pairwise_sum.h"
#include "samplers/sampling_errors.h"

namespace s2s::data {
namespace {

std::optional<size_t> find_strict(const Bins& bins, const CutSize& size) {
  const auto& lengths = bins.lengths;
  const auto begin = std::lower_bound(lengths.begin(), lengths.end(), size.length);
  if (begin == lengths.end()) return std::nullopt;
  const auto end = std::find_if(begin, lengths.end(), [&](double d) { return d != *begin; });
  const auto first = bins.num_tokens.begin() + (begin - lengths.begin());
  const auto last = first + (end - begin);
  const auto found = std::lower_bound(first, last, size.num_tokens);
  if (found == last) return std::nullopt;
  const auto bucket = static_cast<size_t>(found - bins.num_tokens.begin());
  const double ratio = static_cast<double>(size.num_tokens) / size.length;
  if (!bins.max_ratio.empty() && ratio > bins.max_ratio[bucket]) return std::nullopt;
  return bucket;
}

std::optional<size_t> find_any(const Bins& bins, const CutSize& size) {
  for (size_t i = 0; i < bins.lengths.size(); ++i) {
    if (size.length <= bins.lengths[i] && size.num_tokens <= bins.num_tokens[i]) return i;
  }
  return std::nullopt;
}

bool is_ascending(const Bins& bins) {
  for (size_t i = 1; i < bins.lengths.size(); ++i) {
    if (bins.lengths[i] < bins.lengths[i - 1]) return false;
    if (bins.is_2d() && bins.lengths[i] == bins.lengths[i - 1] &&
        bins.num_tokens[i] < bins.num_tokens[i - 1]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<size_t> find_bucket(const Bins& bins, const CutSize& size) {
  if (bins.is_2d()) return bins.is_strict ? find_strict(bins, size) : find_any(bins, size);
  const auto& lengths = bins.lengths;
  return std::lower_bound(lengths.begin(), lengths.end(), size.length) - lengths.begin();
}

bool fits_bucket(const Bins& bins, const CutSize& size) {
  const std::optional<size_t> bucket = find_bucket(bins, size);
  return bucket && *bucket < bins.lengths.size();
}

void check_bins(const Bins& bins, std::optional<size_t> num_batch_sizes) {
  const std::string count = std::to_string(bins.lengths.size()) + " bounds";
  const auto refuse_size = [&](const std::string& name, size_t size) {
    if (size == bins.lengths.size()) return;
    throw sampling_errors::bins(count + " and " + std::to_string(size) + " " + name,
                                "as many of them as bounds");
  };
  if (bins.is_2d()) refuse_size("bounds of tokens", bins.num_tokens.size());
  if (!bins.max_ratio.empty()) refuse_size("ratios", bins.max_ratio.size());
  if (num_batch_sizes) refuse_size("batch sizes", *num_batch_sizes);
  if (!is_ascending(bins)) {
    throw sampling_errors::bins("the bounds are in no order", "ascending bounds");
  }
}

std::vector<double> estimate_bins(std::vector<double> lengths, int64_t num_buckets) {
  const auto count = static_cast<int64_t>(lengths.size());
  if (num_buckets < 2 || count < num_buckets) {
    throw sampling_errors::too_few_cuts(count, num_buckets);
  }
  std::sort(lengths.begin(), lengths.end());
  const double share =
      pairwise_sum(std::span<const double>(lengths)) / static_cast<double>(num_buckets);
  std::vector<double> bins;
  double sum = 0;
  for (const double length : lengths) {
    if (sum > share) {
      bins.push_back(length);
      sum = 0;
    }
    sum += length;
  }
  return bins;
}

}  // namespace s2s::data
