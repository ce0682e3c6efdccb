#include "observers/parameter_histograms.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <iterator>
#include <limits>
#include <set>
#include <sstream>

namespace s2s {
namespace {

constexpr double kSmallest = 1e-8, kLargest = 1e4, kGrowth = 1.25;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Ascending upper limits of the intervals; all elements above the last one count in it.
std::vector<double> interval_limits() {
  std::vector<double> positive;
  for (double limit = kSmallest; limit < kLargest; limit *= kGrowth) positive.push_back(limit);
  std::vector<double> limits;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) limits.push_back(-*limit);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

/// The names of the parameters that any rank trains.
std::set<std::string> trained_names(ParallelStrategy& strategy, Model& model, Communicator& world) {
  std::string own;
  for (const NamedTensor& parameter : strategy.optimizer_parameters(model)) {
    own += parameter.name + "\n";
  }
  std::set<std::string> names;
  for (const std::string& text : all_gather_texts(world, own)) {
    std::istringstream lines(text);
    for (std::string name; std::getline(lines, name);) names.insert(name);
  }
  return names;
}

/// What the ranks combine: a row for each parameter.
struct Rows {
  at::Tensor sums;  // the counts of the intervals, then the sum and the sum of squares
  at::Tensor min, max;
};

/// Fills the row of elements that this rank owns.
void fill_row(const Rows& rows, int64_t row, const at::Tensor& elements, const at::Tensor& limits) {
  const at::Tensor flat = elements.flatten().to(at::kDouble);
  const at::Tensor index = at::bucketize(flat, limits).clamp_max(limits.numel() - 1);
  const at::Tensor counts = at::bincount(index, {}, limits.numel()).to(at::kDouble);
  rows.sums[row].copy_(
      at::cat({counts, flat.sum().reshape({1}), flat.square().sum().reshape({1})}));
  rows.min[row].copy_(flat.min());
  rows.max[row].copy_(flat.max());
}

Rows rows_of_all_ranks(const std::set<std::string>& names, const std::vector<LocalShard>& shards,
                       const at::Tensor& limits, Communicator& world) {
  const auto num_rows = static_cast<int64_t>(names.size());
  const auto options = at::TensorOptions(at::kDouble).device(world.device_type());
  const Rows rows = {at::zeros({num_rows, limits.numel() + 2}, options),
                     at::full({num_rows}, kInfinity, options),
                     at::full({num_rows}, -kInfinity, options)};
  for (const LocalShard& shard : shards) {
    const auto name = names.find(shard.name);
    if (name == names.end() || !shard.is_owner || shard.tensor.numel() == 0) continue;
    fill_row(rows, std::distance(names.begin(), name), shard.tensor,
             limits.to(shard.tensor.device()));
  }
  world.all_reduce(rows.sums, Reduction::kSum, "histograms").wait();
  world.all_reduce(rows.min, Reduction::kMin, "histograms").wait();
  world.all_reduce(rows.max, Reduction::kMax, "histograms").wait();
  return {rows.sums.cpu(), rows.min.cpu(), rows.max.cpu()};
}

}  // namespace

std::map<std::string, LoggedHistogram> parameter_histograms(ParallelStrategy& strategy,
                                                            Model& model, Communicator& world) {
  const at::NoGradGuard no_grad;
  const std::set<std::string> names = trained_names(strategy, model, world);
  if (names.empty()) return {};
  const std::vector<double> limits = interval_limits();
  const Rows rows =
      rows_of_all_ranks(names, strategy.parts(model), at::tensor(limits, at::kDouble), world);
  std::map<std::string, LoggedHistogram> histograms;
  int64_t row = 0;
  for (const std::string& name : names) {
    const double* const sums = rows.sums[row].const_data_ptr<double>();
    LoggedHistogram& histogram = histograms[name];
    histogram.min = rows.min.const_data_ptr<double>()[row];
    histogram.max = rows.max.const_data_ptr<double>()[row];
    histogram.counts.assign(sums, sums + limits.size());
    histogram.sum = sums[limits.size()];
    histogram.sum_of_squares = sums[limits.size() + 1];
    histogram.limits = limits;
    ++row;
  }
  return histograms;
}

}  // namespace s2s
