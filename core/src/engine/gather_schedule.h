#pragma once
// When units are made whole and freed. Every rank issues the same gathers in the same order, also
// where some ranks do not run a module: what any rank ran in one of the last hundred steps is
// gathered in passing. (A module that nobody ran for so long, and that then some ranks run and
// others do not, ends in the timeout of a collective.)

#include <cstdint>
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

class GatherSchedule {
 public:
  /// root: what belongs to no unit; it is whole from each update of parameters to the next.
  GatherSchedule(std::vector<ScheduledUnit> units, std::vector<FlatGroup*> root,
                 bool reshard_after_forward);

  /// Parameters have new values: begins to gather what stays whole.
  void outdated();

  /// A pass: a micro-batch's forward, and its backward.
  void begin_forward();
  /// What remains of the pass; every unit is freed.
  void end_pass();
  bool is_backward() const { return phase_ == Phase::kBackward; }

  /// The unit (-1: none) is whole on return, and the one after it on its way.
  void open(int64_t unit);
  /// The unit's forward is over.
  void close(int64_t unit, bool for_backward);
  /// The unit's backward begins; its last one is over.
  void open_backward(int64_t unit);
  void close_backward(int64_t unit);

  /// Which units ran in the passes since the last call: forward flags, then backward flags.
  std::vector<double> take_flags();
  /// The same of all ranks, once in a step: what the next passes have to keep step with.
  void expect(const std::vector<double>& flags);

 private:
  enum class Phase { kIdle, kForward, kBackward };
  struct State {
    bool ran = false, ran_backward = false;  // since take_flags
    int64_t idle = 0, idle_backward = 0;     // steps since any rank ran it
  };
  bool expects(size_t unit) const;
  bool expects_backward(size_t unit) const;
  size_t count() const { return units_.size(); }
  void start(size_t unit);
  void finish(size_t unit);
  void release(size_t unit, bool for_backward);
  void begin_backward();

  void finish_root();

  std::vector<ScheduledUnit> units_;
  std::vector<FlatGroup*> root_;
  bool root_is_coming_ = false;
  std::vector<State> states_;
  bool reshards_;
  Phase phase_ = Phase::kIdle;
  size_t issued_ = 0;       // forward: units before this one were gathered in this pass
  size_t issued_back_ = 0;  // backward: units from this one on
};

}  // namespace s2s
