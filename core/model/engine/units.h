#pragma once
// The units of a plan in a model: which blocks belong to which, and what is known of each.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/parallel/plan.h"

namespace s2s {

/// A unit of the plan, in the order in which the plan names them: the order in which they run.
struct Unit {
  std::string path;
  Block* module = nullptr;
  bool is_hooked = false;
  bool is_repeated = false;  // one of a pattern's several
  int64_t index = 0;         // of its pattern's
  bool stays = false;        // whole from its forward to the end of the backward
};

class Units {
 public:
  Units(Block& model, const ShardPlan& plan);
  const std::vector<Unit>& all() const { return units_; }
  /// The innermost unit around a block, or -1.
  int64_t of_block(const Block& block) const;
  /// The unit that a parameter belongs to (a member's address), or -1.
  int64_t of_parameter(const at::Tensor* member) const;
  /// True for a member that is registered at several places.
  bool is_shared(const at::Tensor* member) const { return shared_.contains(member); }

 private:
  std::vector<Unit> units_;
  std::map<const Block*, int64_t> of_block_;
  std::map<const at::Tensor*, int64_t> of_parameter_;
  std::set<const at::Tensor*> shared_;
};

}  // namespace s2s
