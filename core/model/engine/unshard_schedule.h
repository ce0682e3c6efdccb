#pragma once
// When units are made whole and freed. Every rank issues the same gathers in the same order, also
// where some ranks do not run a module: what any rank ran in one of the last hundred steps is
// gathered in passing. (A module that nobody ran for so long, and that then some ranks run and
// others do not, ends in the timeout of a collective.)
//
// At most two of the units that come and go have memory at a time: the one that runs, and the next
// one, which is on its way. In the backward pass a rank goes by the units that it did not run at
// the pace of those that run them: it waits for their gathers and reductions, one after the other,
// so that no rank waits for a gather whose rank waits for a reduction.

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/flat_group.h"
#include "engine/units.h"

namespace s2s {

/// Units as the engine schedules them.
struct ScheduledUnit {
  std::vector<FlatGroup*> groups;
  bool frees = false;  // its groups are whole only while they are used
  bool stays = false;  // but not freed between forward and backward
};

class UnshardSchedule {
 public:
  /// root: what belongs to no unit; it is whole from each update of parameters to the next.
  UnshardSchedule(std::vector<ScheduledUnit> units, std::vector<FlatGroup*> root,
                  bool reshard_after_forward);

  /// Hears of each unit that the backward pass goes by: no gradient comes from it.
  std::function<void(int64_t unit)> passed = [](int64_t) {};

  /// Parameters have new values: begins to gather what stays whole.
  void outdated();

  /// A pass: a micro-batch's forward, and its backward.
  void begin_forward();
  /// What remains of the pass; every unit is freed.
  void end_pass();
  bool is_backward() const { return phase_ == Phase::kBackward; }
  bool frees(int64_t unit) const { return units_[place_of_[static_cast<size_t>(unit)]].frees; }

  /// The unit (-1: none) is whole on return, and the one after it on its way.
  void pre_forward(int64_t unit);
  /// The unit's forward is over. for_backward: a backward of it will come.
  void post_forward(int64_t unit, bool for_backward);
  /// The unit's backward begins; its last one is over.
  void pre_backward(int64_t unit);
  void post_backward(int64_t unit);

  /// Which units ran in the passes since the last call: of each its place in the forward pass (0:
  /// it did not run), then whether its backward did (0, 1).
  std::vector<double> take_flags();
  /// The highest of all ranks, once in a step: what the next passes have to keep step with, and the
  /// order in which units are gathered from now on. (It begins as the plan's.)
  void expect(const std::vector<double>& flags);

 private:
  enum class Phase { kIdle, kForward, kBackward };
  struct State {
    int64_t number = 0;                   // as others number it
    double ran = 0, ran_backward = 0;     // flags since take_flags
    int64_t idle = 0, idle_backward = 0;  // steps since any rank ran it
    bool is_known = false;                // a step has been
    int64_t num_late = 0;                 // steps in which, on some rank, it came after a later one
    // In this pass, on this rank:
    bool has_come = false;      // it was opened
    bool waits = false;         // it was gathered, and has not been opened
    bool has_backward = false;  // one will come
  };
  bool expects(size_t unit) const;
  bool expects_backward(size_t unit) const;
  bool is_in_order(size_t unit) const;
  size_t count() const { return units_.size(); }
  void put_in_order(const std::vector<double>& places);
  void start(size_t unit);
  void finish(size_t unit);
  void reshard(size_t unit, bool for_backward);

  void come_to(size_t unit);
  void start_waiting(size_t unit);
  void leave(size_t unit);
  void begin_backward();
  void start_down_to(size_t unit);
  void start_before(size_t unit);
  void pass_backward(size_t unit);
  void free_behind(size_t unit);

  void finish_root();

  // In the order in which units run; numbers of units here are places in it.
  std::vector<ScheduledUnit> units_;
  std::vector<FlatGroup*> root_;
  bool root_is_coming_ = false;
  std::vector<State> states_;
  std::vector<size_t> place_of_;  // by the number that others use
  bool reshards_;
  Phase phase_ = Phase::kIdle;
  size_t issued_ = 0;       // forward: units before this one were gathered in this pass
  size_t furthest_ = 0;     // forward: units from this one on were not opened
  int64_t num_late_ = 0;    // forward: units that were opened after a later one
  size_t issued_back_ = 0;  // backward: units from this one on were gathered
  size_t next_back_ = 0;    // backward: the pass has come to units from this one on, or gone by
  std::vector<size_t> open_back_;  // backwards that have begun and not said that they are over
};

}  // namespace s2s
