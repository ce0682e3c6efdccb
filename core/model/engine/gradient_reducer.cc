#include "engine/gradient_reducer.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <utility>

namespace s2s {

class GradientReducer::Arrival : public torch::autograd::PostAccumulateGradHook {
 public:
  Arrival(GradientReducer& flow, size_t member, size_t parameter)
      : flow_(flow), member_(member), parameter_(parameter) {}
  void operator()(const torch::autograd::Variable&) override { flow_.arrived(member_, parameter_); }

 private:
  GradientReducer& flow_;
  size_t member_, parameter_;
};

GradientReducer::GradientReducer(const std::vector<FlatGroup*>& groups, const Units& units,
                                 size_t max_in_flight)
    : calls_(units.all().size(), 0),
      pending_(units.all().size(), 0),
      is_over_(units.all().size(), false),
      max_in_flight_(max_in_flight) {
  for (FlatGroup* group : groups) {
    if (!group->is_trained()) continue;
    Member member{group, {}, std::vector<bool>(group->parameters().size(), true)};
    for (const FlatParameter& parameter : group->parameters()) {
      member.unit_of.push_back(units.of_parameter(parameter.named.tensor));
      member.is_shared = member.is_shared || units.is_shared(parameter.named.tensor);
    }
    member.is_root = !group->settings().frees;
    members_.push_back(std::move(member));
  }
  put_in_order(std::vector<double>(members_.size(), 0));
  for (size_t m = 0; m < members_.size(); ++m) {
    std::vector<FlatParameter>& parameters = members_[m].group->parameters();
    for (size_t p = 0; p < parameters.size(); ++p) {
      torch::autograd::impl::set_post_acc_grad_hooks(*parameters[p].named.tensor,
                                                     std::make_unique<Arrival>(*this, m, p));
    }
  }
}

GradientReducer::~GradientReducer() {
  for (const Member& member : members_) {
    for (const FlatParameter& parameter : member.group->parameters()) {
      torch::autograd::impl::set_post_acc_grad_hooks(*parameter.named.tensor, nullptr);
    }
  }
}

void GradientReducer::begin_micro_batch(bool reduces, bool is_last) {
  reduces_ = reduces;
  is_last_ = is_last;
  num_launched_ = 0;
  num_completed_ = 0;
  for (Member& member : members_) {
    member.is_missing.assign(member.unit_of.size(), true);
    member.completed = -1;
  }
  std::fill(calls_.begin(), calls_.end(), 0);
  std::fill(pending_.begin(), pending_.end(), 0);
  std::fill(is_over_.begin(), is_over_.end(), false);
}

void GradientReducer::called(int64_t unit) { ++calls_[static_cast<size_t>(unit)]; }

/// Each backward of a recomputed unit produces gradients of its parameters. The gradients are
/// complete after the last one.
void GradientReducer::begun(int64_t unit) {
  --calls_[static_cast<size_t>(unit)];
  for (Member& member : members_) {
    for (size_t p = 0; p < member.unit_of.size(); ++p) {
      if (member.unit_of[p] == unit) member.is_missing[p] = true;
    }
  }
}

void GradientReducer::passed(int64_t unit) {
  const auto index = static_cast<size_t>(unit);
  if (calls_[index] > 0 || pending_[index] > 0) return;
  is_over_[index] = true;
  note_completed();
  launch_ready(false);
}

void GradientReducer::entered(int64_t unit) { ++pending_[static_cast<size_t>(unit)]; }

void GradientReducer::left(int64_t unit) {
  const auto index = static_cast<size_t>(unit);
  if (--pending_[index] == 0) is_over_[index] = true;
  note_completed();
  launch_ready(false);
}

void GradientReducer::arrived(size_t index, size_t parameter) {
  Member& member = members_[index];
  member.is_missing[parameter] = false;
  member.group->take_gradient(parameter);
  if (member.completed < 0 && is_ready(member)) member.completed = num_completed_++;
  launch_ready(false);
}

bool GradientReducer::is_ready(const Member& member) const {
  for (size_t p = 0; p < member.unit_of.size(); ++p) {
    const int64_t unit = member.unit_of[p];
    const auto index = static_cast<size_t>(unit);
    if (unit >= 0 && (calls_[index] > 0 || pending_[index] > 0)) return false;
    const bool is_over = unit >= 0 && is_over_[index];
    if (!is_over && (member.is_shared || member.is_missing[p])) return false;
  }
  return true;
}

void GradientReducer::note_completed() {
  for (Member& member : members_) {
    if (member.completed < 0 && is_ready(member)) member.completed = num_completed_++;
  }
}

std::vector<double> GradientReducer::completion() const {
  std::vector<double> out;
  for (const Member& member : members_) {
    out.push_back(static_cast<double>(member.completed < 0 ? members_.size() : member.completed));
  }
  return out;
}

void GradientReducer::follow(const std::vector<double>& completion) { put_in_order(completion); }

/// Groups outside of units come last. A rank that does not use them only knows this at the end of
/// backward, and the other groups must not wait for it.
void GradientReducer::put_in_order(const std::vector<double>& completion) {
  order_.resize(members_.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return std::pair(members_[a].is_root, completion[a]) <
           std::pair(members_[b].is_root, completion[b]);
  });
}

void GradientReducer::launch_ready(bool all) {
  if (!reduces_) return;
  while (num_launched_ < members_.size()) {
    Member& member = members_[order_[num_launched_]];
    if (!all && !is_ready(member)) return;
    ++num_launched_;
    launch(member);
  }
}

void GradientReducer::launch(Member& member) {
  const auto end_oldest = [&] {
    in_flight_.front()->finish_reduce();
    if (is_last_) in_flight_.front()->start_replica_sum();
    in_flight_.erase(in_flight_.begin());
  };
  while (in_flight_.size() >= max_in_flight_) end_oldest();
  member.group->start_reduce();
  in_flight_.push_back(member.group);
  if (member.group->settings().reductions->size() == 1) {
    while (!in_flight_.empty()) end_oldest();
  }
}

void GradientReducer::end_micro_batch() {
  launch_ready(/*all=*/true);
  for (FlatGroup* group : in_flight_) {
    group->finish_reduce();
    if (is_last_) group->start_replica_sum();
  }
  in_flight_.clear();
}

void GradientReducer::finish_step() {
  for (const Member& member : members_) member.group->finish_replica_sum();
}

}  // namespace s2s
