#pragma once
// Stands at a rank's hooks and collectives, and notes what has memory and what is under way.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/units.h"
#include "s2s/kinds/communicator.h"
#include "s2s/nn/vocabulary.h"

namespace s2s::test {

class UnitWatch : public BlockHooks, public CollectiveObserver {
 public:
  /// The code of a unit begins.
  struct Run {
    int64_t unit = 0;
    bool is_backward = false;
    bool is_whole = false;  // the unit
    bool has_next = false;  // the unit that runs after it has memory, or there is none
  };

  /// Between the hooks of `model` and the strategy, which is attached already.
  void watch(Block& model, const ShardPlan& plan) {
    units_ = std::make_unique<Units>(model, plan);
    members_.resize(units_->all().size());
    for (const NamedTensor& parameter : model.named_parameters()) {
      const int64_t unit = units_->of_parameter(parameter.tensor);
      unit_of_name_[parameter.name] = unit;
      if (unit >= 0) members_[static_cast<size_t>(unit)].push_back(parameter.tensor);
    }
    model.for_each_block([this](const std::string&, Block& block) {
      inner_ = block.hooks();
      block.set_hooks(this);
    });
  }

  at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) override {
    const int64_t unit = units_->of_block(block);
    const bool is_unit = unit >= 0 && units_->all()[static_cast<size_t>(unit)].module == &block;
    if (!is_unit) return inner_->call(block, x, forward);
    note();
    in_forward_.insert(unit);
    const at::Tensor y = inner_->call(block, x, [this, unit, forward](const at::Tensor& given) {
      note_run(unit, !in_forward_.contains(unit));  // computed again: in the backward pass
      const at::Tensor inside = forward(given);
      if (!inside.requires_grad() || !at::GradMode::is_enabled()) return inside;
      inside.register_hook([this, unit](const at::Tensor&) -> void { note_run(unit, true); });
      return inside.view_as(inside);  // the strategy's hook comes before this one
    });
    in_forward_.erase(unit);
    note();
    return y;
  }
  void use(Block& block) override {
    inner_->use(block);
    note();
  }
  const VocabularySplit* vocabulary_split(const Block& block) const override {
    return inner_->vocabulary_split(block);
  }

  void started(const CollectiveRecord& record, const GroupPlace&) override {
    note_collective(record, true);
  }
  void finished(const CollectiveRecord& record, bool) override { note_collective(record, false); }

  size_t most_units() const { return most_units_; }            // with memory, of those that go
  size_t most_gathers() const { return most_gathers_; }        // units on their way
  size_t most_reductions() const { return most_reductions_; }  // over the shard axis
  const std::vector<Run>& runs() const { return runs_; }
  /// Counts from the second step on only.
  bool skips_first_step = false;

 private:
  bool has_memory(size_t unit) const {
    return std::any_of(members_[unit].begin(), members_[unit].end(), [](const at::Tensor* member) {
      return member->numel() > 0 && member->storage().nbytes() > 0;
    });
  }
  bool is_under_way(size_t unit) const {
    return std::any_of(gathering_.begin(), gathering_.end(), [&](const auto& gather) {
      return gather.second == static_cast<int64_t>(unit);
    });
  }
  /// With memory, or without parameters.
  bool is_there(size_t unit) const { return members_[unit].empty() || has_memory(unit); }

  void note() {
    if (!units_) return;
    size_t num = 0;
    for (size_t unit = 0; unit < members_.size(); ++unit) {
      if (!units_->all()[unit].stays && has_memory(unit)) ++num;
    }
    most_units_ = std::max(most_units_, num);
  }

  void note_run(int64_t unit, bool is_backward) {
    const auto index = static_cast<size_t>(unit);
    const bool is_last = is_backward ? index == 0 : index + 1 == members_.size();
    runs_.push_back({unit, is_backward, has_memory(index) && !is_under_way(index),
                     is_last || is_there(is_backward ? index - 1 : index + 1)});
    note();
  }

  void note_collective(const CollectiveRecord& record, bool starts) {
    note();
    if (record.name == "flags" && !starts && std::exchange(skips_first_step, false)) {
      most_units_ = most_gathers_ = most_reductions_ = 0;
    }
    if (record.kind == CollectiveKind::kReduceScatter && record.group == "shard") {
      num_reductions_ += starts ? 1 : -1;
      most_reductions_ = std::max(most_reductions_, static_cast<size_t>(num_reductions_));
    }
    const auto unit = unit_of_name_.find(record.name);
    const bool is_gather = record.kind == CollectiveKind::kAllGather &&
                           (record.group == "shard_gathers" || record.group == "near");
    if (!is_gather || unit == unit_of_name_.end() || unit->second < 0) return;
    const std::pair key(record.group, record.sequence);
    if (starts) {
      gathering_[key] = unit->second;
    } else {
      gathering_.erase(key);
    }
    std::set<int64_t> units;
    for (const auto& [what, one] : gathering_) units.insert(one);
    most_gathers_ = std::max(most_gathers_, units.size());
  }

  BlockHooks* inner_ = nullptr;
  std::unique_ptr<Units> units_;
  std::vector<std::vector<const at::Tensor*>> members_;
  std::map<std::string, int64_t> unit_of_name_;
  std::map<std::pair<std::string, int64_t>, int64_t> gathering_;  // by group and number
  int64_t num_reductions_ = 0;
  size_t most_units_ = 0, most_gathers_ = 0, most_reductions_ = 0;
  std::set<int64_t> in_forward_;
  std::vector<Run> runs_;
};

}  // namespace s2s::test
