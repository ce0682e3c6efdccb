#include "exchange.h"

#include <algorithm>
#include <stdexcept>

namespace s2s::local {

std::shared_ptr<Step> Group::join(int64_t sequence, int64_t rank, Call call, const Carry& carry) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Step>& entry = steps_[sequence];
  if (!entry) {
    entry = std::make_shared<Step>();
    entry->calls.resize(ranks_.size());
    entry->has_come.resize(ranks_.size());
  }
  const std::shared_ptr<Step> step = entry;
  const auto index = static_cast<size_t>(rank);
  for (size_t other = 0; other < ranks_.size(); ++other) {
    if (!step->has_come[other] || step->calls[other].what == call.what) continue;
    step->failure = "rank " + std::to_string(ranks_[other]) + " calls " + step->calls[other].what +
                    " where rank " + std::to_string(ranks_[index]) + " calls " + call.what;
  }
  step->calls[index] = std::move(call);
  step->has_come[index] = true;
  ++step->num_come;
  if (step->num_come == ranks_.size()) {
    if (step->failure.empty()) carry(step->calls);
    step->is_done = true;
    step->calls.clear();
    steps_.erase(sequence);
  }
  changed_.notify_all();
  return step;
}

std::shared_ptr<Transfer> Group::meet(Ends& own, Ends& other, int64_t from, int64_t to,
                                      at::Tensor tensor, bool sends) {
  const std::lock_guard lock(mutex_);
  auto end = std::make_shared<Transfer>();
  end->tensor = std::move(tensor);
  end->partner = sends ? to : from;
  auto& waiting = other[{from, to}];
  if (waiting.empty()) {
    own[{from, to}].push_back(end);
    return end;
  }
  const std::shared_ptr<Transfer> partner = waiting.front();
  waiting.pop_front();
  (sends ? partner : end)->tensor.copy_((sends ? end : partner)->tensor);
  end->is_done = partner->is_done = true;
  changed_.notify_all();
  return end;
}

std::shared_ptr<Transfer> Group::send(int64_t from, int64_t to, at::Tensor tensor) {
  return meet(sends_, recvs_, from, to, std::move(tensor), /*sends=*/true);
}

std::shared_ptr<Transfer> Group::recv(int64_t from, int64_t to, at::Tensor tensor) {
  return meet(recvs_, sends_, from, to, std::move(tensor), /*sends=*/false);
}

std::string Group::missing(const Step& step) const {
  std::string text;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!step.has_come[rank]) text += (text.empty() ? "" : ", ") + std::to_string(ranks_[rank]);
  }
  return text;
}

void Group::wait(const Step& step, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto ends = [&] { return step.is_done || !step.failure.empty() || !left_.empty(); };
  const bool in_time = changed_.wait_for(lock, timeout, ends);
  if (!step.failure.empty()) throw std::runtime_error(step.failure);
  if (step.is_done) return;
  if (in_time) {
    throw std::runtime_error("remote process exited: rank " + std::to_string(left_.front()) +
                             " ended by an error");
  }
  throw std::runtime_error("timed out; not called by rank " + missing(step));
}

void Group::wait(const Transfer& transfer, std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const auto ends = [&] { return transfer.is_done || !left_.empty(); };
  const bool in_time = changed_.wait_for(lock, timeout, ends);
  if (transfer.is_done) return;
  const std::string partner = std::to_string(ranks_[static_cast<size_t>(transfer.partner)]);
  throw std::runtime_error(in_time ? "remote process exited: rank " + std::to_string(left_.front())
                                   : "timed out; rank " + partner + " did not call it");
}

bool Group::is_done(const bool& flag) {
  const std::lock_guard lock(mutex_);
  return flag;
}

void Group::leave(int64_t rank) {
  const std::lock_guard lock(mutex_);
  left_.push_back(ranks_[static_cast<size_t>(rank)]);
  changed_.notify_all();
}

std::shared_ptr<Group> Exchange::group(const std::string& key, const std::vector<int64_t>& ranks) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Group>& group = groups_[key];
  if (!group) group = std::make_shared<Group>(ranks);
  return group;
}

}  // namespace s2s::local
