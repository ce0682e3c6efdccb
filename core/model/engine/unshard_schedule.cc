#include "engine/unshard_schedule.h"

#include <algorithm>

namespace s2s {
namespace {

constexpr int64_t kForgottenAfter = 100;  // steps

}  // namespace

UnshardSchedule::UnshardSchedule(std::vector<ScheduledUnit> units, std::vector<FlatGroup*> root,
                                 bool reshard_after_forward)
    : units_(std::move(units)),
      root_(std::move(root)),
      states_(units_.size()),
      place_of_(units_.size()),
      reshards_(reshard_after_forward) {
  for (size_t unit = 0; unit < count(); ++unit) {
    states_[unit].number = static_cast<int64_t>(unit);
    place_of_[unit] = unit;
  }
}

void UnshardSchedule::outdated() {
  for (FlatGroup* group : root_) group->unshard();
  root_is_coming_ = true;
  for (size_t unit = 0; unit < count(); ++unit) {
    if (!units_[unit].frees) start(unit);
  }
}

void UnshardSchedule::finish_root() {
  if (!root_is_coming_) return;
  for (FlatGroup* group : root_) group->wait_unshard();
  root_is_coming_ = false;
}

void UnshardSchedule::start(size_t unit) {
  for (FlatGroup* group : units_[unit].groups) group->unshard();
}

void UnshardSchedule::finish(size_t unit) {
  for (FlatGroup* group : units_[unit].groups) group->wait_unshard();
}

void UnshardSchedule::reshard(size_t unit, bool for_backward) {
  for (FlatGroup* group : units_[unit].groups) group->reshard(for_backward);
}

void UnshardSchedule::begin_forward() {
  end_pass();
  finish_root();
  for (State& state : states_) state.has_come = state.waits = state.has_backward = false;
  phase_ = Phase::kForward;
  issued_ = furthest_ = 0;
  num_late_ = 0;
}

void UnshardSchedule::pre_forward(int64_t index) {
  finish_root();
  if (index < 0) return;
  const auto unit = place_of_[static_cast<size_t>(index)];
  states_[unit].ran = std::max(states_[unit].ran, static_cast<double>(unit + 1));
  if (!units_[unit].frees || phase_ != Phase::kForward) {
    finish(unit);
    return;
  }
  if (!states_[unit].has_come) come_to(unit);
  start(unit);
  issued_ = std::max(issued_, unit + 1);
  if (issued_ == unit + 1) {  // this is the newest unit: prefetch the next one
    while (issued_ < count() && !expects(issued_)) ++issued_;
    if (issued_ < count()) start_waiting(issued_++);
  }
  finish(unit);
}

/// Earlier units that this rank did not run are unsharded, too. They are resharded unless they may
/// still run later: another rank that runs them later would unshard them once, and this rank twice.
void UnshardSchedule::come_to(size_t unit) {
  if (unit < furthest_) {  // its place is after the units that ran before it
    const double late = static_cast<double>(++num_late_) / static_cast<double>(2 * count());
    states_[unit].ran = std::max(states_[unit].ran, static_cast<double>(furthest_) + late);
  }
  states_[unit].has_come = true;
  states_[unit].waits = false;
  furthest_ = std::max(furthest_, unit + 1);
  const auto leave_if_done = [this](size_t other) {
    if (states_[other].waits && is_in_order(other)) leave(other);
  };
  for (size_t before = 0; before < std::min(unit, issued_); ++before) leave_if_done(before);
  for (; issued_ < unit; ++issued_) {
    if (!expects(issued_)) continue;
    start_waiting(issued_);
    leave_if_done(issued_);
  }
}

void UnshardSchedule::start_waiting(size_t unit) {
  start(unit);
  states_[unit].waits = true;
}

void UnshardSchedule::leave(size_t unit) {
  states_[unit].waits = false;
  if (reshards_ && !units_[unit].stays) reshard(unit, expects_backward(unit));
}

void UnshardSchedule::post_forward(int64_t index, bool for_backward) {
  if (index < 0) return;
  const auto unit = place_of_[static_cast<size_t>(index)];
  if (!units_[unit].frees || phase_ == Phase::kBackward) return;
  const bool is_forward = phase_ == Phase::kForward;
  states_[unit].has_backward = states_[unit].has_backward || (is_forward && for_backward);
  if (units_[unit].stays || (is_forward && !reshards_)) return;
  reshard(unit, is_forward && expects_backward(unit));  // equal on every rank
}

void UnshardSchedule::begin_backward() {
  if (phase_ != Phase::kForward) return;
  for (size_t unit = 0; unit < issued_; ++unit) {
    if (states_[unit].waits) leave(unit);
  }
  for (; issued_ < count(); ++issued_) {
    if (!units_[issued_].frees || !expects(issued_)) continue;
    start(issued_);
    leave(issued_);
  }
  phase_ = Phase::kBackward;
  issued_back_ = next_back_ = count();
}

void UnshardSchedule::pre_backward(int64_t index) {
  if (index < 0) return;
  begin_backward();
  const auto unit = place_of_[static_cast<size_t>(index)];
  states_[unit].ran_backward = 1;
  if (!units_[unit].frees) return;
  for (; next_back_ > unit + 1; --next_back_) pass_backward(next_back_ - 1);
  next_back_ = std::min(next_back_, unit);
  free_later_units(unit);
  open_back_.push_back(unit);
  start_down_to(unit);
  start(unit);
  if (next_back_ == unit) start_before(unit);
  finish(unit);
}

void UnshardSchedule::start_down_to(size_t unit) {
  while (issued_back_ > unit) {
    if (expects_backward(--issued_back_) || issued_back_ == unit) start(issued_back_);
  }
}

void UnshardSchedule::start_before(size_t unit) {
  while (unit > 0 && !expects_backward(unit - 1)) --unit;
  if (unit > 0) start_down_to(unit - 1);
}

/// A unit whose input has no gradient (embeddings, the first layers) does not report the end of its
/// backward. Its backward is over when the backward of an earlier unit begins, because autograd
/// runs the latest operations first.
void UnshardSchedule::free_later_units(size_t unit) {
  std::erase_if(open_back_, [&](size_t other) {
    const bool is_over = other > unit && !units_[other].stays;
    if (is_over) reshard(other, false);
    return is_over;
  });
}

/// Makes the same collective calls as a rank that runs the unit's backward, without the backward.
void UnshardSchedule::pass_backward(size_t unit) {
  const State& state = states_[unit];
  const bool is_gathered = units_[unit].frees && expects_backward(unit);
  if (is_gathered) {
    free_later_units(unit);
    start_down_to(unit);
    start_before(unit);
  }
  // Gradients may still arrive.
  if (state.has_backward || (units_[unit].stays && state.has_come)) return;
  if (is_gathered && !units_[unit].stays) {
    finish(unit);
    reshard(unit, false);
  }
  passed(state.number);
}

void UnshardSchedule::post_backward(int64_t index) {
  if (index < 0 || !units_[place_of_[static_cast<size_t>(index)]].frees) return;
  std::erase(open_back_, place_of_[static_cast<size_t>(index)]);
  reshard(place_of_[static_cast<size_t>(index)], false);
}

void UnshardSchedule::end_pass() {
  begin_backward();
  if (phase_ == Phase::kBackward) {
    free_later_units(0);
    for (; next_back_ > 0; --next_back_) pass_backward(next_back_ - 1);
  }
  for (size_t unit = 0; unit < count(); ++unit) reshard(unit, false);
  open_back_.clear();
  issued_back_ = next_back_ = 0;
  phase_ = Phase::kIdle;
}

std::vector<double> UnshardSchedule::take_flags() {
  std::vector<double> flags;
  for (const State& state : states_) flags.push_back(state.ran);
  for (State& state : states_) {
    flags.push_back(state.ran_backward);
    state.ran = state.ran_backward = 0;
  }
  return flags;
}

void UnshardSchedule::expect(const std::vector<double>& flags) {
  std::vector<double> places;
  for (size_t unit = 0; unit < count(); ++unit) {
    State& state = states_[unit];
    state.idle = flags[unit] > 0 ? 0 : state.idle + 1;
    state.idle_backward = flags[count() + unit] > 0 ? 0 : state.idle_backward + 1;
    const auto own_place = static_cast<double>(unit + 1);
    state.is_known = true;
    state.num_late += flags[unit] > own_place ? 1 : 0;
    places.push_back(std::max(flags[unit], own_place));
  }
  put_in_order(places);
}

void UnshardSchedule::put_in_order(const std::vector<double>& places) {
  std::vector<size_t> order(count());
  for (size_t unit = 0; unit < count(); ++unit) order[unit] = unit;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return places[a] < places[b]; });
  std::vector<ScheduledUnit> units;
  std::vector<State> states;
  for (const size_t unit : order) {
    place_of_[static_cast<size_t>(states_[unit].number)] = units.size();
    units.push_back(std::move(units_[unit]));
    states.push_back(states_[unit]);
  }
  units_ = std::move(units);
  states_ = std::move(states);
}

/// Returns true when no rank runs the unit after a later one has run. (One late step is allowed. It
/// teaches the order.)
bool UnshardSchedule::is_in_order(size_t unit) const {
  const State& state = states_[unit];
  return state.is_known && state.num_late < 2;
}

bool UnshardSchedule::expects(size_t unit) const { return states_[unit].idle < kForgottenAfter; }
bool UnshardSchedule::expects_backward(size_t unit) const {
  return states_[unit].idle_backward < kForgottenAfter;
}

}  // namespace s2s
