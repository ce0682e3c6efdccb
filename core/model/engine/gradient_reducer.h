#pragma once
// From gradients as backward makes them to each rank's sums: takes them away as they come and
// reduces group after group, in one order on all ranks.

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/flat_group.h"
#include "engine/units.h"

namespace s2s {

class GradientReducer {
 public:
  /// groups: in the order in which they are reduced at first; only the trained ones count.
  /// max_in_flight: reductions at once (their gradients are held).
  GradientReducer(const std::vector<FlatGroup*>& groups, const Units& units, size_t max_in_flight);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// `reduces`: this micro-batch's gradients (and those kept from before) are summed over the
  /// ranks. `is_last`: and over the replicas.
  void begin_micro_batch(bool reduces, bool is_last);
  /// A unit's forward, of which a backward will come, and that backward's beginning.
  void called(int64_t unit);
  void begun(int64_t unit);
  /// The same of one whose input has a gradient, and its backward's end.
  void entered(int64_t unit);
  void left(int64_t unit);
  /// No backward of the unit comes (any more).
  void passed(int64_t unit);
  /// Reduces what remains.
  void end_micro_batch();
  /// All sums are complete.
  void finish_step();

  /// For each group when its gradients were complete in the last micro-batch: 0, 1, ...; those that
  /// were not come last.
  std::vector<double> completion() const;
  /// The latest of all ranks: groups are reduced in this order from now on.
  void follow(const std::vector<double>& completion);

 private:
  class Arrival;
  struct Member {
    FlatGroup* group;
    std::vector<int64_t> unit_of;  // of each parameter
    std::vector<bool> is_missing;  // of each parameter: no gradient in this micro-batch yet
    bool is_shared = false;        // one of them is registered twice: its gradient may come twice
    bool is_root = false;          // stands outside of units that come and go
    int64_t completed = -1;        // -1: not yet in this micro-batch
  };
  void arrived(size_t member, size_t parameter);
  bool is_ready(const Member& member) const;
  void note_completed();
  void put_in_order(const std::vector<double>& completion);
  void launch_ready(bool all);
  void launch(Member& member);

  std::vector<Member> members_;
  std::vector<size_t> order_;  // in which members are reduced
  int64_t num_completed_ = 0;
  std::vector<int64_t> calls_;    // of each unit: backwards that have not begun
  std::vector<int64_t> pending_;  // of each unit: backwards that have not ended
  std::vector<bool> is_over_;     // of each unit: its backward ran, and all of it
  std::vector<FlatGroup*> in_flight_;
  size_t max_in_flight_;
  size_t num_launched_ = 0;
  bool reduces_ = false, is_last_ = false;
};

}  // namespace s2s
