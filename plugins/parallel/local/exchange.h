#pragma once
// State that the threads of a group share. The last rank that calls a collective runs it for all,
// on its thread and in rank order, so results are equal in every run.

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

/// One rank's call of a collective; `what` must be equal on all ranks.
struct Call {
  std::string what;
  at::Tensor output;
  at::Tensor input;
};

/// A collective that at least one rank has called.
struct Step {
  std::vector<Call> calls;  // by rank
  std::vector<bool> has_come;
  size_t num_come = 0;
  bool is_done = false;
  std::string failure;
};

/// One end of a message.
struct Transfer {
  at::Tensor tensor;
  int64_t partner = 0;
  bool is_done = false;
};

/// Runs a collective when all ranks have called it.
using Carry = std::function<void(std::vector<Call>& calls)>;

class Group {
 public:
  explicit Group(std::vector<int64_t> ranks) : ranks_(std::move(ranks)) {}

  std::shared_ptr<Step> join(int64_t sequence, int64_t rank, Call call, const Carry& carry);
  std::shared_ptr<Transfer> send(int64_t from, int64_t to, at::Tensor tensor);
  std::shared_ptr<Transfer> recv(int64_t from, int64_t to, at::Tensor tensor);
  /// Errors: std::runtime_error with the ranks that did not call it, or that ended.
  void wait(const Step& step, std::chrono::milliseconds timeout);
  void wait(const Transfer& transfer, std::chrono::milliseconds timeout);
  bool is_done(const bool& flag);
  /// Marks this rank as ended, so that the others stop waiting for it.
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

/// The groups of a run, by key.
class Exchange {
 public:
  std::shared_ptr<Group> group(const std::string& key, const std::vector<int64_t>& ranks);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Group>> groups_;
};

}  // namespace s2s::local
