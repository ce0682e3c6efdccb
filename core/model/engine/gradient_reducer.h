#pragma once
// Moves gradients out of the parameters during backward and reduces group after group. All ranks
// use the same order.

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/flat_group.h"
#include "engine/units.h"

namespace s2s {

class GradientReducer {
 public:
  /// groups: in the initial order of reduction; only trained groups count.
  /// max_in_flight: number of concurrent reductions (their gradients stay allocated).
  GradientReducer(const std::vector<FlatGroup*>& groups, const Units& units, size_t max_in_flight);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// `reduces`: the gradients of this micro-batch (and earlier unreduced ones) are summed over the
  /// shard ranks. `is_last`: also over the replicas.
  void begin_micro_batch(bool reduces, bool is_last);
  /// called: the forward of a unit that will have a backward. begun: that backward begins.
  void called(int64_t unit);
  void begun(int64_t unit);
  /// The same for a unit whose input requires a gradient. left: its backward has ended.
  void entered(int64_t unit);
  void left(int64_t unit);
  /// The unit will have no (further) backward in this micro-batch.
  void passed(int64_t unit);
  void end_micro_batch();
  void finish_step();

  /// Returns, for each group, its position in the order of completion in the last micro-batch: 0,
  /// 1, ... Incomplete groups come last.
  std::vector<double> completion() const;
  /// `completion`: the maximum over all ranks. Groups are reduced in this order from now on.
  void follow(const std::vector<double>& completion);

 private:
  class Arrival;
  struct Member {
    FlatGroup* group;
    std::vector<int64_t> unit_of;  // unit of each parameter
    std::vector<bool> is_missing;  // for each parameter: has no gradient in this micro-batch yet
    bool is_shared = false;  // a parameter is registered twice, so its gradient may arrive twice
    bool is_root = false;    // outside of units that are freed
    int64_t completed = -1;  // order of completion; -1: incomplete in this micro-batch
  };
  void arrived(size_t member, size_t parameter);
  bool is_ready(const Member& member) const;
  void note_completed();
  void put_in_order(const std::vector<double>& completion);
  void launch_ready(bool all);
  void launch(Member& member);

  std::vector<Member> members_;
  std::vector<size_t> order_;  // order in which members are reduced
  int64_t num_completed_ = 0;
  std::vector<int64_t> calls_;    // per unit: backwards that have not begun
  std::vector<int64_t> pending_;  // per unit: backwards that have not ended
  std::vector<bool> is_over_;     // per unit: all of its backwards have ended
  std::vector<FlatGroup*> in_flight_;
  size_t max_in_flight_;
  size_t num_launched_ = 0;
  bool reduces_ = false, is_last_ = false;
};

}  // namespace s2s
