#pragma once
// The units of a plan in a model: the blocks and parameters of each unit.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// A unit of the plan. Units are in the order of the plan, which is the order in which they run.
struct Unit {
  std::string path;
  Block* module = nullptr;
  bool is_hooked = false;
  bool is_repeated = false;  // one of several units that match a pattern
  int64_t index = 0;         // index among the units of its pattern
  bool stays = false;        // unsharded from its forward to the end of the backward pass
};

class Units {
 public:
  Units(Block& model, const ShardPlan& plan);
  const std::vector<Unit>& all() const { return units_; }
  /// Returns the innermost unit that contains a block, or -1.
  int64_t of_block(const Block& block) const;
  /// Returns the unit of a parameter (the address of a member), or -1.
  int64_t of_parameter(const at::Tensor* member) const;
  /// Returns true for a member that is registered in several places.
  bool is_shared(const at::Tensor* member) const { return shared_.contains(member); }

 private:
  std::vector<Unit> units_;
  std::map<const Block*, int64_t> of_block_;
  std::map<const at::Tensor*, int64_t> of_parameter_;
  std::set<const at::Tensor*> shared_;
};

}  // namespace s2s
