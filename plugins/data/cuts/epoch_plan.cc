#include "epoch_plan.h"

#include <algorithm>
#include <utility>

#include "random_order.h"

namespace s2s::cuts {
namespace {

double seconds_of(const CutSequence& row, double frame_length_s) {
  return row.num_frames == 0 ? row.parts.front().cut->duration_s
                             : static_cast<double>(row.num_frames) * frame_length_s;
}

std::vector<CutSequence> rows_of(const std::vector<const Cut*>& order, const BatchRule& rule,
                                 std::mt19937_64& random) {
  if (rule.pack.max_frames > 0) return pack(order, rule.pack, random);
  std::vector<CutSequence> rows;
  for (const Cut* cut : order) rows.push_back({{{cut, 0}}, 0});
  return rows;
}

}  // namespace

EpochPlan plan_epoch(const std::vector<Cut>& cuts, const BatchRule& rule, uint64_t seed,
                     int64_t epoch) {
  std::mt19937_64 random(mix_bits(seed ^ mix_bits(static_cast<uint64_t>(epoch))));
  std::vector<const Cut*> order;
  for (const Cut& cut : cuts) order.push_back(&cut);
  if (rule.shuffle) shuffle_items(order, random);
  EpochPlan plan;
  PlannedRows batch;
  double longest = 0;
  bool full = false;
  for (CutSequence& row : rows_of(order, rule, random)) {
    const double seconds = seconds_of(row, rule.pack.frame_length_s);
    const double padded = static_cast<double>(batch.size() + 1) * std::max(longest, seconds);
    full = static_cast<int64_t>(batch.size()) >= rule.max_rows || padded > rule.max_seconds;
    if (full && !batch.empty()) {
      plan.push_back(std::exchange(batch, {}));
      longest = 0;
    }
    longest = std::max(longest, seconds);
    batch.push_back(std::move(row));
  }
  full = static_cast<int64_t>(batch.size()) >= rule.max_rows;
  if (!batch.empty() && (full || !rule.drop_last)) plan.push_back(std::move(batch));
  return plan;
}

}  // namespace s2s::cuts
