#include "engine/gather_schedule.h"

#include <algorithm>

namespace s2s {
namespace {

constexpr int64_t kForgottenAfter = 100;  // steps

}  // namespace

GatherSchedule::GatherSchedule(std::vector<ScheduledUnit> units, std::vector<FlatGroup*> root,
                               bool reshard_after_forward)
    : units_(std::move(units)),
      root_(std::move(root)),
      states_(units_.size()),
      reshards_(reshard_after_forward) {}

void GatherSchedule::outdated() {
  for (FlatGroup* group : root_) group->start_gather();
  root_is_coming_ = true;
  for (size_t unit = 0; unit < count(); ++unit) {
    if (!units_[unit].frees) start(unit);
  }
}

void GatherSchedule::finish_root() {
  if (!root_is_coming_) return;
  for (FlatGroup* group : root_) group->finish_gather();
  root_is_coming_ = false;
}

void GatherSchedule::start(size_t unit) {
  for (FlatGroup* group : units_[unit].groups) group->start_gather();
}

void GatherSchedule::finish(size_t unit) {
  for (FlatGroup* group : units_[unit].groups) group->finish_gather();
}

void GatherSchedule::release(size_t unit, bool for_backward) {
  for (FlatGroup* group : units_[unit].groups) group->release(for_backward);
}

void GatherSchedule::begin_forward() {
  end_pass();
  finish_root();
  phase_ = Phase::kForward;
  issued_ = 0;
}

void GatherSchedule::open(int64_t index) {
  finish_root();
  if (index < 0) return;
  const auto unit = static_cast<size_t>(index);
  states_[unit].ran = true;
  if (!units_[unit].frees || phase_ != Phase::kForward) {
    finish(unit);
    return;
  }
  for (; issued_ < unit; ++issued_) {
    if (expects(issued_)) start(issued_);
  }
  start(unit);
  issued_ = std::max(issued_, unit + 1);
  if (issued_ == unit + 1) {  // the next one
    while (issued_ < count() && !expects(issued_)) ++issued_;
    if (issued_ < count()) start(issued_++);
  }
  finish(unit);
}

void GatherSchedule::close(int64_t index, bool for_backward) {
  if (index < 0) return;
  const auto unit = static_cast<size_t>(index);
  if (!units_[unit].frees || phase_ == Phase::kBackward) return;
  const bool stays = units_[unit].stays || !reshards_;
  if (phase_ == Phase::kForward && stays) return;
  if (units_[unit].stays) return;  // read again without a door: until the next pass
  release(unit, for_backward);
}

void GatherSchedule::begin_backward() {
  if (phase_ != Phase::kForward) return;
  for (; issued_ < count(); ++issued_) {
    if (expects(issued_)) start(issued_);
  }
  // What was gathered in passing is not wanted; the same units are freed on every rank.
  for (size_t unit = 0; unit < count(); ++unit) {
    if (reshards_ && !units_[unit].stays) release(unit, true);
  }
  phase_ = Phase::kBackward;
  issued_back_ = count();
}

void GatherSchedule::open_backward(int64_t index) {
  if (index < 0) return;
  begin_backward();
  const auto unit = static_cast<size_t>(index);
  states_[unit].ran_backward = true;
  if (!units_[unit].frees) return;
  while (issued_back_ > unit + 1) {
    if (expects_backward(--issued_back_)) start(issued_back_);
  }
  start(unit);
  issued_back_ = std::min(issued_back_, unit);
  if (issued_back_ == unit) {  // the one before it
    while (issued_back_ > 0 && !expects_backward(issued_back_ - 1)) --issued_back_;
    if (issued_back_ > 0) start(--issued_back_);
  }
  finish(unit);
}

void GatherSchedule::close_backward(int64_t index) {
  if (index < 0 || !units_[static_cast<size_t>(index)].frees) return;
  release(static_cast<size_t>(index), false);
}

void GatherSchedule::end_pass() {
  begin_backward();
  if (phase_ == Phase::kBackward) {
    while (issued_back_ > 0) {
      if (expects_backward(--issued_back_)) start(issued_back_);
    }
  }
  for (size_t unit = 0; unit < count(); ++unit) release(unit, false);
  phase_ = Phase::kIdle;
}

std::vector<double> GatherSchedule::take_flags() {
  std::vector<double> flags;
  for (const State& state : states_) flags.push_back(state.ran ? 1 : 0);
  for (State& state : states_) {
    flags.push_back(state.ran_backward ? 1 : 0);
    state.ran = state.ran_backward = false;
  }
  return flags;
}

void GatherSchedule::expect(const std::vector<double>& flags) {
  for (size_t unit = 0; unit < count(); ++unit) {
    State& state = states_[unit];
    state.idle = flags[unit] > 0 ? 0 : state.idle + 1;
    state.idle_backward = flags[count() + unit] > 0 ? 0 : state.idle_backward + 1;
  }
}

bool GatherSchedule::expects(size_t unit) const { return states_[unit].idle < kForgottenAfter; }
bool GatherSchedule::expects_backward(size_t unit) const {
  return states_[unit].idle_backward < kForgottenAfter;
}

}  // namespace s2s
