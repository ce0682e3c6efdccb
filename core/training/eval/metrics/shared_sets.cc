#include "eval/metrics/shared_sets.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/foreign_json.h"
#include "s2s/error.h"

namespace s2s {

using nlohmann::json;

SharedSets::SharedSets(const std::map<std::string, ShareFactory>& sets, ParallelStrategy* strategy,
                       int64_t limit)
    : sets_(sets), strategy_(strategy), limit_(limit) {
  if (strategy != nullptr) share_ = {strategy->data_rank(), strategy->mesh().data_size()};
  for (const auto& [name, factory] : sets) open_[name] = factory(share_);
}

std::optional<Batch> SharedSets::next_of(DataSource& source) {
  if (limit_ > 0 && round_ * share_.size + share_.rank >= limit_) return std::nullopt;
  return source.next();
}

/// Returns any batch. Its results are discarded.
const Batch& SharedSets::spare_batch() {
  for (auto set = sets_.begin(); !spare_ && set != sets_.end(); ++set) {
    spare_ = set->second({})->next();
  }
  S2S_ASSERT(spare_.has_value(), "a round is run because some rank has a batch");
  return *spare_;
}

bool SharedSets::next_round() {
  turns_.clear();
  std::vector<std::optional<Batch>> mine;
  std::vector<double> num_ranks;
  for (auto& [name, source] : open_) {
    mine.push_back(next_of(*source));
    num_ranks.push_back(mine.back() ? 1 : 0);
  }
  if (strategy_ != nullptr && !num_ranks.empty()) num_ranks = strategy_->sum_over_data(num_ranks);
  const int64_t first = round_ * share_.size;
  const int64_t number = first + share_.rank;
  size_t i = 0;
  for (const auto& [name, source] : open_) {
    const int64_t ranks = std::llround(num_ranks[i]);
    std::optional<Batch>& batch = mine[i++];
    if (batch) {
      if (needs_all()) spare_ = batch;
      turns_.push_back({name, std::move(*batch), number, first, true, ranks});
    } else if (ranks > 0 && needs_all()) {
      turns_.push_back({name, spare_batch(), number, first, false, ranks});
    }
  }
  ++round_;
  return std::any_of(num_ranks.begin(), num_ranks.end(), [](double count) { return count > 0; });
}

int64_t SharedSets::common_width(int64_t width) {
  if (!needs_all()) return width;
  int64_t widest = 0;
  for (const std::string& text : strategy_->gather_texts(std::to_string(width))) {
    widest = std::max<int64_t>(widest, std::stoll(text));
  }
  return widest;
}

void add_sums(MetricSums& sums, const MetricSums& more) {
  for (const auto& [name, value] : more) {
    sums[name].first += value.first;
    sums[name].second += value.second;
  }
}

std::map<std::string, MetricSums> sums_of_all_ranks(ParallelStrategy& strategy,
                                                    const std::map<std::string, MetricSums>& sums) {
  if (strategy.mesh().data_size() == 1) return sums;
  json mine = json::object();  // values as bit patterns, because JSON has neither NaN nor infinity
  for (const auto& [set, values] : sums) {
    for (const auto& [name, value] : values) {
      mine[set][name] = {std::bit_cast<uint64_t>(value.first),
                         std::bit_cast<uint64_t>(value.second)};
    }
  }
  std::map<std::string, MetricSums> all;
  for (const std::string& text : strategy.gather_texts(mine.dump())) {
    const json theirs = parse_foreign_json(text);
    for (const auto& [set, values] : theirs.items()) {
      MetricSums more;
      for (const auto& [name, bits] : values.items()) {
        more[name] = {std::bit_cast<double>(bits.at(0).get<uint64_t>()),
                      std::bit_cast<double>(bits.at(1).get<uint64_t>())};
      }
      add_sums(all[set], more);
    }
  }
  return all;
}

}  // namespace s2s
