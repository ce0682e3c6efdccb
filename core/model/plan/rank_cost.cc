#include "plan/rank_cost.h"

#include <algorithm>
#include <map>
#include <set>

#include "plan/traffic.h"

namespace s2s {
namespace {

/// Returns true for a pattern that matches many modules, such as the layers of a model.
bool is_repeated(const std::string& unit, const ShardPlan& plan) {
  return std::any_of(plan.units.begin(), plan.units.end(), [&](const UnitRow& row) {
    return row.module.find('*') != std::string::npos && path_matches(row.module, unit);
  });
}

class Count {
 public:
  Count(const ShardPlan& plan, const RankCostInputs& inputs)
      : plan_(plan), inputs_(inputs), settings_(inputs.settings), bytes_(inputs.bytes) {}

  void add(const PlannedParameter& parameter) {
    const bool is_trained = inputs_.is_trained(parameter.name);
    const bool stays = is_replicated(settings_, is_trained);
    const int64_t whole = parameter.tensor_numel();
    const int64_t part = stays ? whole : sharded_numel(parameter, settings_.mesh.shard);
    add_values(parameter, whole, part, is_trained, stays);
    add_copies(parameter, whole);
    if (!is_trained) return;
    const bool is_there = lives_on_host(settings_, true);
    const int64_t part_bytes = bytes_.stored * part;
    (is_there ? cost_.host_bytes : cost_.optimizer_bytes) += part_bytes * inputs_.optimizer_numbers;
    if (is_there || keeps_part_gradients()) {
      (is_there ? cost_.host_bytes : cost_.gradient_bytes) += part_bytes;
    }
    // Replicas sum their gradients on the device, before they go to the host.
    if (is_there && settings_.mesh.replicate > 1) replica_sum_bytes_ += part_bytes;
    if (!keeps_part_gradients() || keeps_whole_gradients()) {
      cost_.gradient_bytes += bytes_.reduced * whole;
    }
  }

  RankCost finish() {
    if (splits_gradients(settings_)) cost_.gathered_bytes = passing_bytes();
    cost_.gathered_bytes += replica_sum_bytes_;
    return cost_;
  }

 private:
  bool splits() const { return settings_.mesh.shard > 1 || frees_units(settings_); }
  bool keeps_part_gradients() const { return !splits() || splits_gradients(settings_); }
  /// Between the micro-batches of a step, gradients are kept unsharded.
  bool keeps_whole_gradients() const {
    return splits_gradients(settings_) && !reduces_every_micro_batch(settings_) &&
           inputs_.micro_batches > 1;
  }

  void add_values(const PlannedParameter& parameter, int64_t whole, int64_t part, bool is_trained,
                  bool stays) {
    const bool comes_and_goes = frees_units(settings_) && !stays;
    const int64_t held = comes_and_goes || !splits() ? part : whole;
    cost_.parameters += held;
    if (is_trained) cost_.trained += held;
    const bool changes_type = bytes_.gathered != bytes_.stored;
    if (lives_on_host(settings_, is_trained)) {
      cost_.host_bytes += part * (bytes_.stored + (changes_type ? bytes_.gathered : 0));
      if (!comes_and_goes) cost_.parameter_bytes += whole * bytes_.gathered;
    } else if (comes_and_goes) {
      cost_.parameter_bytes += part * bytes_.stored;
    } else {
      cost_.parameter_bytes += whole * bytes_.gathered + (changes_type ? part * bytes_.stored : 0);
    }
    if (stays) return;
    Unit& unit = units_[parameter.unit];
    unit.whole += whole;
    if (is_trained) unit.trained += whole;
  }

  /// Counts the copies of weights that matrix products read. Embeddings and norms need none.
  void add_copies(const PlannedParameter& parameter, int64_t whole) {
    const bool is_table = !parameter.rows.empty() &&
                          plan_.rows[parameter.rows.front()].style == Style::kVocab &&
                          plan_.rows[parameter.rows.front()].out != Layout::kLast;
    if (bytes_.product >= bytes_.gathered || parameter.sizes.size() < 2 || is_table) return;
    const RecomputeSettings& recompute = settings_.recompute;
    const bool is_block = is_repeated(parameter.unit, plan_);
    if (is_block && recompute.what == RecomputeSettings::What::kBlocks && recompute.every == 1) {
      return;
    }
    cost_.copy_bytes += whole * bytes_.product;
    if (is_block) cost_.block_copy_bytes += whole * bytes_.product;
  }

  /// Bytes that are allocated only while a unit is used. In stage 3: the unit itself and the next
  /// one, then the gradients and two buffers for their reduction. Returns the maximum, plus what
  /// other units keep at that time.
  int64_t passing_bytes() const {
    const int64_t near = near_group_size(settings_);
    const bool is_freed = frees_units(settings_) && settings_.reshard_after_forward;
    const bool is_kept = frees_units(settings_) && !settings_.reshard_after_forward;
    int64_t largest = 0, kept = 0;
    for (const auto& [path, unit] : units_) {
      const int64_t whole = bytes_.gathered * unit.whole;
      const int64_t gradients = (bytes_.gathered + 2 * bytes_.reduced) * unit.trained;
      largest = std::max(largest, (is_freed ? 2 * whole : 0) + gradients);
      if (is_kept) kept += whole;
      if (is_freed && near > 0) kept += whole / near;
    }
    return largest + kept;
  }

  struct Unit {
    int64_t whole = 0, trained = 0;
  };
  const ShardPlan& plan_;
  const RankCostInputs& inputs_;
  const EngineSettings& settings_;
  const ElementBytes& bytes_;
  std::map<std::string, Unit> units_;
  int64_t replica_sum_bytes_ = 0;
  RankCost cost_;
};

}  // namespace

RankCost rank_cost(const PlannedModel& planned, const ShardPlan& plan,
                   const RankCostInputs& inputs) {
  Count count(plan, inputs);
  std::set<const at::Tensor*> seen;
  for (const PlannedParameter& parameter : planned.parameters) {
    if (seen.insert(parameter.tensor).second) count.add(parameter);
  }
  return count.finish();
}

}  // namespace s2s
