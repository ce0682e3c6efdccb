#pragma once
// Decides when units are unsharded and resharded. Every rank issues the same all-gathers in the
// same order, even when some ranks do not run a module: a rank also gathers what any other rank ran
// in one of the last hundred steps. (If no rank ran a module for that long, and then only some
// ranks run it, the collective times out.)
// At most two freed units are unsharded at once: the one that runs and the one that is being
// prefetched. In the backward pass, a rank passes the units that it did not run at the pace of the
// ranks that run them: it waits for their all-gathers and reductions in order. Otherwise a rank
// could wait for an all-gather while another waits for a reduction.

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/flat_group.h"
#include "engine/units.h"

namespace s2s {

struct ScheduledUnit {
  std::vector<FlatGroup*> groups;
  bool frees = false;  // its groups are unsharded only while they are used
  bool stays = false;  // but stays unsharded between forward and backward
};

class UnshardSchedule {
 public:
  /// root: groups outside of any unit. They stay unsharded between updates of the parameters.
  UnshardSchedule(std::vector<ScheduledUnit> units, std::vector<FlatGroup*> root,
                  bool reshard_after_forward);

  /// Called for each unit that the backward pass skips: it will produce no gradients.
  std::function<void(int64_t unit)> passed = [](int64_t) {};

  /// Call this when parameters have new values. Starts to unshard the groups that stay unsharded.
  void outdated();

  /// A pass is the forward of a micro-batch and its backward.
  void begin_forward();
  /// Ends the pass. Reshards every unit.
  void end_pass();
  bool is_backward() const { return phase_ == Phase::kBackward; }
  bool frees(int64_t unit) const { return units_[place_of_[static_cast<size_t>(unit)]].frees; }

  /// On return, the unit (-1: none) is unsharded, and the next one is being prefetched.
  void pre_forward(int64_t unit);
  /// Call this after the unit's forward. for_backward: its backward will follow.
  void post_forward(int64_t unit, bool for_backward);
  /// pre_backward: the unit's backward begins. post_backward: its last backward is over.
  void pre_backward(int64_t unit);
  void post_backward(int64_t unit);

  /// Returns which units ran in the passes since the last call: for each unit its place in the
  /// forward pass (0: it did not run), then whether its backward ran (0, 1).
  std::vector<double> take_flags();
  /// `flags`: the maximum over all ranks, once in a step. They determine which units the next
  /// passes must unshard, and in which order. (The initial order is that of the plan.)
  void expect(const std::vector<double>& flags);

 private:
  enum class Phase { kIdle, kForward, kBackward };
  struct State {
    int64_t number = 0;                   // index that other components use
    double ran = 0, ran_backward = 0;     // flags since take_flags
    int64_t idle = 0, idle_backward = 0;  // steps since any rank ran it
    bool is_known = false;                // at least one step is complete
    int64_t num_late = 0;                 // steps in which, on some rank, it ran after a later unit
    // State of this rank in this pass:
    bool has_come = false;      // it has started to run
    bool waits = false;         // it is prefetched and has not started to run
    bool has_backward = false;  // a backward will follow
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
  void free_later_units(size_t unit);

  void finish_root();

  // In the order in which units run. Unit indices in this class are positions in this list.
  std::vector<ScheduledUnit> units_;
  std::vector<FlatGroup*> root_;
  bool root_is_coming_ = false;
  std::vector<State> states_;
  std::vector<size_t> place_of_;  // by the index that other components use
  bool reshards_;
  Phase phase_ = Phase::kIdle;
  size_t issued_ = 0;       // forward: units before this one were unsharded in this pass
  size_t furthest_ = 0;     // forward: no unit from this one on has run
  int64_t num_late_ = 0;    // forward: units that ran after a later one
  size_t issued_back_ = 0;  // backward: units from this one on were unsharded
  size_t next_back_ = 0;    // backward: the pass has reached or skipped units from this one on
  std::vector<size_t> open_back_;  // backwards that have begun and not reported their end
};

}  // namespace s2s
