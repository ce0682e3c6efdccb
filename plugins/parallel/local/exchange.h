#pragma once
// What the threads of a group have in common. A collective happens when its last rank calls it, on
// that rank's thread, for all: in the order of ranks, so results are the same in every run.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "s2s/kinds/communicator.h"

namespace s2s::local {

/// What one rank brings to a collective; `what` has to be the same on all.
struct Call {
  std::string what;
  at::Tensor output;
  at::Tensor input;
};

/// A collective that some ranks have called.
struct Step {
  std::vector<Call> calls;  // by rank
  std::vector<bool> has_come;
  size_t num_come = 0;
  bool is_done = false;
  std::string failure;
};

/// One of two ends of a message.
struct Transfer {
  at::Tensor tensor;
  int64_t partner = 0;
  bool is_done = false;
};

/// Carries a collective out once all calls are there.
using Carry = std::function<void(std::vector<Call>& calls)>;

class Group {
 public:
  explicit Group(std::vector<int64_t> ranks) : ranks_(std::move(ranks)) {}

  std::shared_ptr<Step> join(int64_t sequence, int64_t rank, Call call, const Carry& carry);
  std::shared_ptr<Transfer> send(int64_t from, int64_t to, at::Tensor tensor);
  std::shared_ptr<Transfer> recv(int64_t from, int64_t to, at::Tensor tensor);
  /// Errors: std::runtime_error with the ranks that did not come, or that ended.
  void wait(const Step& step, std::chrono::milliseconds timeout);
  void wait(const Transfer& transfer, std::chrono::milliseconds timeout);
  bool is_done(const bool& flag);
  /// The others need not wait for this rank any more.
  void leave(int64_t rank);

 private:
  using Ends = std::map<std::pair<int64_t, int64_t>, std::deque<std::shared_ptr<Transfer>>>;
  std::shared_ptr<Transfer> meet(Ends& own, Ends& other, int64_t from, int64_t to,
                                 at::Tensor tensor, bool sends);
  std::string missing(const Step& step) const;

  std::vector<int64_t> ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, std::shared_ptr<Step>> steps_;
  Ends sends_, recvs_;
  std::vector<int64_t> left_;
};

/// The groups of a run by their keys.
class Exchange {
 public:
  std::shared_ptr<Group> group(const std::string& key, const std::vector<int64_t>& ranks);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Group>> groups_;
};

}  // namespace s2s::local
